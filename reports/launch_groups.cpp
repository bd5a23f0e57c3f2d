#include "reports/launch_groups.hpp"

#include "reports/derive.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace attnprof::reports {

using profilers::Record;

std::string without_block_number(const std::string& scope) {
  const std::size_t slash = scope.find('/');
  if (slash == std::string::npos || slash == 0) {
    return scope;
  }
  std::size_t digits = slash;
  while (digits > 0 && scope[digits - 1] >= '0' && scope[digits - 1] <= '9') {
    --digits;
  }
  return digits == slash || digits == 0 ? scope : scope.substr(0, digits) + "*" + scope.substr(slash);
}

namespace {

void add(std::optional<double>& sum, const std::optional<double>& value, bool is_first) {
  if (is_first) {
    sum = value;
  } else {
    sum = sum && value ? std::optional(*sum + *value) : std::nullopt;
  }
}

void add_launch(LaunchGroup& group, const profilers::LaunchRecord& launch, const profilers::RoofVerdict* roof) {
  const bool is_first = group.count == 0;
  ++group.count;
  group.work += launch.cost.work;
  group.bytes += launch.cost.bytes.read + launch.cost.bytes.written;
  add(group.time_s, launch.time_median_s, is_first);
  add(group.roof_time_s, roof == nullptr ? std::nullopt : roof->roof_time_s, is_first);
}

/// Time under each bound of the launches of a group.
using BoundTimes = std::vector<std::pair<std::string_view, double>>;

double& time_under(BoundTimes& times, std::string_view bound) {
  const auto at = std::find_if(times.begin(), times.end(), [&](const auto& one) { return one.first == bound; });
  return at == times.end() ? times.emplace_back(bound, 0.0).second : at->second;
}

/// The bound with most time so far is the group's.
void add_bound(LaunchGroup& group, BoundTimes& times, const profilers::LaunchRecord& launch,
               const profilers::RoofVerdict& roof) {
  const double time_s = time_under(times, roof.bound) += launch.time_median_s.value_or(roof.roof_time_s.value_or(0.0));
  if (group.bound.empty() || roof.bound == group.bound || time_s > time_under(times, group.bound)) {
    group.bound = roof.bound;
    group.ambiguous = is_ambiguous(roof);
    group.roof_level = roof.roof_level;
  }
}

/// Finds the group that a launch belongs to. Blocks repeat, so that it is mostly the one after that of the launch
/// before.
class GroupSearch {
 public:
  /// The place of its group; where it has none yet, of the next one to be made.
  std::size_t place_of(const profilers::LaunchRecord& launch, std::string scope) {
    Key key{std::move(scope), &launch};
    for (std::size_t looked = 0; looked < keys_.size(); ++looked, ++next_) {
      next_ = next_ < keys_.size() ? next_ : 0;
      if (keys_[next_] == key) {
        return next_++;
      }
    }
    keys_.push_back(std::move(key));
    return keys_.size() - 1;
  }
  [[nodiscard]] std::size_t count() const { return keys_.size(); }

 private:
  struct Key {
    std::string scope;
    const profilers::LaunchRecord* launch;
    bool operator==(const Key& other) const {
      return scope == other.scope && launch->cost.op == other.launch->cost.op &&
             launch->cost.shape == other.launch->cost.shape && launch->kernel_impl == other.launch->kernel_impl;
    }
  };
  std::vector<Key> keys_;
  std::size_t next_ = 0;
};

} // namespace

bool has_more_groups_than(std::size_t count, const Record& record) {
  GroupSearch search;
  for (const profilers::LaunchRecord& launch : record.launches) {
    if (search.count() > count) {
      break;
    }
    search.place_of(launch, without_block_number(launch.cost.scope));
  }
  return search.count() > count;
}

std::vector<LaunchGroup> launch_groups(const Record& record) {
  std::vector<LaunchGroup> groups;
  GroupSearch search;
  std::vector<BoundTimes> bounds; // of each group
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    const profilers::LaunchRecord& launch = record.launches[i];
    const profilers::RoofVerdict* roof = i < record.launch_roofs.size() ? &record.launch_roofs[i] : nullptr;
    std::string scope = without_block_number(launch.cost.scope);
    const std::size_t place = search.place_of(launch, scope);
    if (place == groups.size()) {
      LaunchGroup& group = groups.emplace_back();
      group.scope = launch.cost.scope;
      group.op = launch.cost.op;
      group.shape = launch.cost.shape;
      group.kernel_impl = launch.kernel_impl;
      bounds.emplace_back();
    } else {
      groups[place].scope = std::move(scope);
    }
    LaunchGroup& group = groups[place];
    add_launch(group, launch, roof);
    if (roof != nullptr && !roof->bound.empty()) {
      add_bound(group, bounds[place], launch, *roof);
    } else if (roof != nullptr && group.roof_level.empty()) {
      group.roof_level = roof->roof_level;
    }
  }
  return groups;
}

} // namespace attnprof::reports
