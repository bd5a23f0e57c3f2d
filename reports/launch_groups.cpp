#include "reports/launch_groups.hpp"

#include "reports/derive.hpp"

#include <algorithm>
#include <cctype>
#include <map>

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

} // namespace

std::vector<LaunchGroup> launch_groups(const Record& record) {
  std::vector<LaunchGroup> groups;
  std::map<std::vector<std::string>, std::size_t> positions;
  std::vector<std::map<std::string, double>> bounds; // of each group: time by bound
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    const profilers::LaunchRecord& launch = record.launches[i];
    const profilers::RoofVerdict* roof = i < record.launch_roofs.size() ? &record.launch_roofs[i] : nullptr;
    const std::string scope = without_block_number(launch.cost.scope);
    const auto [at, is_new] =
        positions.emplace(std::vector{scope, launch.cost.op, launch.cost.shape, launch.kernel_impl}, groups.size());
    if (is_new) {
      LaunchGroup group;
      group.scope = launch.cost.scope;
      group.op = launch.cost.op;
      group.shape = launch.cost.shape;
      group.kernel_impl = launch.kernel_impl;
      groups.push_back(std::move(group));
      bounds.emplace_back();
    } else {
      groups[at->second].scope = scope;
    }
    LaunchGroup& group = groups[at->second];
    add_launch(group, launch, roof);
    if (roof != nullptr && !roof->bound.empty()) {
      double& time_s = bounds[at->second][roof->bound];
      time_s += launch.time_median_s.value_or(roof->roof_time_s.value_or(0.0));
      const bool leads = group.bound.empty() || time_s > bounds[at->second][group.bound] || roof->bound == group.bound;
      if (leads) {
        group.bound = roof->bound;
        group.ambiguous = is_ambiguous(*roof);
        group.roof_level = roof->roof_level;
      }
    } else if (roof != nullptr && group.roof_level.empty()) {
      group.roof_level = roof->roof_level;
    }
  }
  return groups;
}

} // namespace attnprof::reports
