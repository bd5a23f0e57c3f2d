#include "reports/derive.hpp"

#include "reports/format.hpp"
#include "reports/plausibility.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace attnprof::reports {
namespace {

using profilers::Record;
using profilers::RoofVerdict;

/// A warning of a derivation begins with this, so that the next derivation can replace them.
constexpr std::string_view kLaunchSum = "launch times: ";

constexpr std::string_view kOverhead = "overhead";
constexpr std::string_view kUnexplained = "unexplained";

std::optional<double> positive(std::optional<double> value) {
  return value && *value > 0.0 ? value : std::optional<double>{};
}

/// Time of `work` under a ceiling; notes in `complete` where work meets no ceiling.
std::optional<double> least_time(operators::Count work, const UnitRoof* roof, bool& complete) {
  if (work <= 0) {
    return {};
  }
  if (roof == nullptr) {
    complete = false;
    return {};
  }
  return static_cast<double>(work.value()) / roof->per_s;
}

} // namespace

Residence residence_of(const Record& record) {
  Residence out;
  if (record.totals) {
    const operators::Totals& totals = *record.totals;
    out.footprint_bytes = (totals.weight_bytes + totals.kv_cache_bytes + totals.peak_activation_bytes).value();
  }
  if (record.measured) {
    using profilers::CachePolicy;
    const CachePolicy policy = record.measured->cache_policy;
    out.weights_are_cold = policy == CachePolicy::kCold || policy == CachePolicy::kColdWeights;
    out.cache_is_cold = policy == CachePolicy::kCold || policy == CachePolicy::kColdKv;
  }
  return out;
}

namespace {

/// Operands of one class, and the level that they are found in.
struct ClassTraffic {
  const MemoryRoof* level;
  double read;
  double written;
};

std::vector<ClassTraffic> traffic_of(const operators::Bytes& bytes, const Roofs& roofs, const Residence& residence) {
  const std::int64_t between_uses = std::max(residence.footprint_bytes, bytes.working_set.value());
  const MemoryRoof* far = &roofs.memory.back();
  const MemoryRoof* reused = roofs.level_of(between_uses);
  const operators::Count handed_over = bytes.read - bytes.weights_read - bytes.cache_read;
  const auto real = [](operators::Count count) { return static_cast<double>(count.value()); };
  std::vector<ClassTraffic> out = {
      {residence.weights_are_cold ? far : reused, real(bytes.weights_read), 0.0},
      {residence.cache_is_cold ? far : reused, real(bytes.cache_read), 0.0},
      {roofs.level_of(bytes.working_set.value()), real(handed_over), real(bytes.written)},
  };
  std::erase_if(out, [](const ClassTraffic& one) { return one.read + one.written <= 0.0; });
  return out;
}

/// What comes from a far level passes through the nearer ones as well. Levels stand nearest first in one array.
void add_memory_time(TimeBounds& out, const std::vector<ClassTraffic>& classes) {
  for (const ClassTraffic& each : classes) {
    double read = 0.0;
    double written = 0.0;
    for (const ClassTraffic& other : classes) {
      const bool passes = other.level >= each.level;
      read += passes ? other.read : 0.0;
      written += passes ? other.written : 0.0;
    }
    const TrafficRoof ceiling = each.level->ceiling_of(read, written);
    const double time_s = (read + written) / ceiling.bytes_per_s;
    if (!out.memory_s || time_s > *out.memory_s) {
      out.memory_s = time_s;
      out.level = each.level->level;
      out.traffic = ceiling.traffic;
    }
  }
}

} // namespace

std::array<NamedBound, 4> by_kind(const TimeBounds& bounds) {
  return {{{"compute", bounds.matrix_s},
           {"vector", bounds.vector_s},
           {"transcendental", bounds.transcendental_s},
           {"memory", bounds.memory_s}}};
}

const UnitRoof* roof_of_unit(std::string_view unit, const Roofs& roofs) {
  const std::array<const std::optional<UnitRoof>*, 3> all = {&roofs.transcendental, &roofs.vector, &roofs.matrix};
  for (std::size_t i = unit == "transcendental" ? 0 : unit == "vector" ? 1 : 2; i < all.size(); ++i) {
    if (all[i]->has_value() && (**all[i]).per_s > 0.0) {
      return &**all[i];
    }
  }
  return nullptr;
}

TimeBounds time_bounds(const operators::LaunchCost& cost, const Roofs& roofs, const Residence& residence) {
  TimeBounds out;
  out.overhead_s = roofs.launch_overhead_s;
  const operators::Count plain_flops = cost.work.vector_flops - cost.work.transcendentals;
  out.matrix_s = least_time(cost.work.matmul_flops(), roof_of_unit("compute", roofs), out.complete);
  out.vector_s = least_time(plain_flops, roof_of_unit("vector", roofs), out.complete);
  out.transcendental_s = least_time(cost.work.transcendentals, roof_of_unit("transcendental", roofs), out.complete);
  if (cost.bytes.read + cost.bytes.written > 0) {
    if (roofs.memory.empty()) {
      out.complete = false;
    } else {
      add_memory_time(out, traffic_of(cost.bytes, roofs, residence));
    }
  }
  return out;
}

namespace {

/// Judges a row by its measured time: what is far from every roof is bound by overhead, or by nothing that is known.
void judge_distance(RoofVerdict& verdict, double time_s, std::optional<double> overhead_s) {
  const double roof_s = *verdict.roof_time_s;
  verdict.roof_fraction = roof_s / time_s;
  const double excess_s = time_s - roof_s;
  if (overhead_s && *overhead_s > roof_s && excess_s > roof_s && *overhead_s >= kOverheadShare * excess_s) {
    verdict.bound = kOverhead;
    verdict.bound_margin = *overhead_s / roof_s;
  } else if (*verdict.roof_fraction < kUnexplainedFraction) {
    verdict.bound = kUnexplained;
    verdict.bound_margin.reset();
  }
}

} // namespace

RoofVerdict roof_verdict(const TimeBounds& bounds, operators::Count flops, std::optional<double> time_s) {
  RoofVerdict out;
  out.roof_level = bounds.level;
  out.roof_traffic = bounds.traffic;
  if (!bounds.complete) {
    return out;
  }
  double next_s = 0.0;
  double most_s = 0.0;
  for (const NamedBound& bound : by_kind(bounds)) {
    if (!bound.time_s) {
      continue;
    }
    if (*bound.time_s > most_s) {
      next_s = most_s;
      most_s = *bound.time_s;
      out.bound = bound.name;
    } else {
      next_s = std::max(next_s, *bound.time_s);
    }
  }
  if (most_s <= 0.0) {
    return out;
  }
  out.roof_time_s = most_s;
  if (next_s > 0.0) {
    out.bound_margin = most_s / next_s;
  }
  if (flops > 0) {
    out.attainable_flops_per_s = static_cast<double>(flops.value()) / most_s;
  }
  if (const auto measured_s = positive(time_s)) {
    judge_distance(out, *measured_s, bounds.overhead_s);
  }
  return out;
}

bool is_ambiguous(const RoofVerdict& verdict) {
  return verdict.bound_margin && *verdict.bound_margin < kAmbiguousMargin;
}

namespace {

/// Whether the whole case is an attention operator.
bool is_operator_alone(const Record& record) {
  const auto* layout = std::get_if<std::string>(&record.config.get("layout"));
  return layout != nullptr && *layout == "op" && !record.config.has("model");
}

bool is_in_mixer(std::string_view scope) {
  constexpr std::string_view kMixer = "mixer";
  for (std::size_t at = scope.find(kMixer); at != std::string_view::npos; at = scope.find(kMixer, at + 1)) {
    const std::size_t end = at + kMixer.size();
    if ((at == 0 || scope[at - 1] == '/') && (end == scope.size() || scope[end] == '/')) {
      return true;
    }
  }
  return false;
}

} // namespace

bool is_attention(const Record& record, std::string_view scope) {
  return is_operator_alone(record) || is_in_mixer(scope);
}

namespace {

/// Time of each launch: as measured where all were, else roof time; empty where neither is known.
std::vector<double> launch_weights(const Record& record) {
  std::vector<double> measured;
  std::vector<double> roofs;
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    if (const auto time_s = positive(record.launches[i].time_median_s)) {
      measured.push_back(*time_s);
    }
    if (i < record.launch_roofs.size()) {
      roofs.push_back(record.launch_roofs[i].roof_time_s.value_or(0.0));
    }
  }
  if (measured.size() == record.launches.size()) {
    return measured;
  }
  return roofs.size() == record.launches.size() ? roofs : std::vector<double>();
}

bool all_launches_timed(const Record& record) {
  return !record.launches.empty() &&
         std::all_of(record.launches.begin(), record.launches.end(),
                     [](const auto& launch) { return positive(launch.time_median_s).has_value(); });
}

/// Share of the measured launch time that `belongs` to the launches of interest; absent where a launch has no time.
template <class F>
std::optional<double> measured_share(const Record& record, F belongs) {
  if (!all_launches_timed(record)) {
    return {};
  }
  double part_s = 0.0;
  double whole_s = 0.0;
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    const double time_s = *record.launches[i].time_median_s;
    whole_s += time_s;
    part_s += belongs(i) ? time_s : 0.0;
  }
  return part_s / whole_s;
}

/// The level and traffic that the most memory time is spent on.
std::pair<std::string, std::string> busiest_level(const std::vector<TimeBounds>& bounds) {
  std::map<std::pair<std::string, std::string>, double> time_of_level;
  for (const TimeBounds& bound : bounds) {
    if (bound.memory_s) {
      time_of_level[{bound.level, bound.traffic}] += *bound.memory_s;
    }
  }
  const auto most = std::max_element(time_of_level.begin(), time_of_level.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == time_of_level.end() ? std::pair<std::string, std::string>() : most->first;
}

RoofVerdict case_verdict(const Record& record, const std::vector<TimeBounds>& bounds) {
  RoofVerdict out;
  std::tie(out.roof_level, out.roof_traffic) = busiest_level(bounds);
  const bool complete = std::all_of(bounds.begin(), bounds.end(), [](const TimeBounds& b) { return b.complete; });
  double roof_time_s = 0.0;
  for (const RoofVerdict& launch : record.launch_roofs) {
    roof_time_s += launch.roof_time_s.value_or(0.0);
  }
  if (!complete || roof_time_s <= 0.0) {
    return out;
  }
  out.roof_time_s = roof_time_s;
  const operators::Count flops = record.totals->work.flops();
  if (flops > 0) {
    out.attainable_flops_per_s = static_cast<double>(flops.value()) / roof_time_s;
  }
  const std::vector<BoundShare> shares = bound_shares(record);
  if (!shares.empty()) {
    out.bound = shares[0].bound;
    if (shares.size() > 1 && shares[1].share > 0.0) {
      out.bound_margin = shares[0].share / shares[1].share;
    }
  }
  if (const auto time_s = record.measured ? positive(record.measured->time_median_s) : std::optional<double>()) {
    std::optional<double> overhead_s = bounds.front().overhead_s;
    if (overhead_s) {
      *overhead_s *= static_cast<double>(bounds.size());
    }
    judge_distance(out, *time_s, overhead_s);
  }
  return out;
}

/// The launches are timed in a pass of their own: where that pass behaves otherwise than the case, shares of it do not
/// speak for the case.
void warn_of_launch_sum(Record& record) {
  const auto time_s = record.measured ? positive(record.measured->time_median_s) : std::optional<double>();
  if (!time_s || !all_launches_timed(record)) {
    return;
  }
  double sum_s = 0.0;
  for (const profilers::LaunchRecord& launch : record.launches) {
    sum_s += *launch.time_median_s;
  }
  if (std::abs(sum_s / *time_s - 1.0) > kLaunchSumTolerance) {
    record.warnings.push_back(fmt::format(
        "{}one by one the launches take {}, {} of the {} of the case, so shares of the launch time may not be those of "
        "the case",
        kLaunchSum, seconds(sum_s), percent(sum_s / *time_s), seconds(time_s)));
  }
}

} // namespace

std::vector<BoundShare> bound_shares(const Record& record) {
  const std::vector<double> weights = launch_weights(record);
  double whole = 0.0;
  std::map<std::string, double> parts;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    whole += weights[i];
    if (i < record.launch_roofs.size() && !record.launch_roofs[i].bound.empty()) {
      parts[record.launch_roofs[i].bound] += weights[i];
    }
  }
  std::vector<BoundShare> out;
  for (const auto& [bound, part] : parts) {
    if (part > 0.0) {
      out.push_back({bound, part / whole});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  return out;
}

void derive(Record& record, const Roofs& roofs) {
  record.roof = {};
  record.launch_roofs.clear();
  record.memory_bound_time_share.reset();
  record.attention_time_share.reset();
  if (!record.totals) {
    return;
  }
  std::erase_if(record.warnings, [](const std::string& warning) {
    return warning.starts_with(kLaunchSum) || is_plausibility_warning(warning);
  });
  const Residence residence = residence_of(record);
  std::vector<TimeBounds> bounds;
  bounds.reserve(record.launches.size());
  record.launch_roofs.reserve(record.launches.size());
  for (const profilers::LaunchRecord& launch : record.launches) {
    bounds.push_back(time_bounds(launch.cost, roofs, residence));
    record.launch_roofs.push_back(roof_verdict(bounds.back(), launch.cost.work.flops(), launch.time_median_s));
  }
  record.roof = case_verdict(record, bounds);
  const bool known = !record.roof.bound.empty();
  record.memory_bound_time_share =
      known ? measured_share(record, [&](std::size_t i) { return record.launch_roofs[i].bound == "memory"; })
            : std::optional<double>();
  const bool is_all = is_operator_alone(record);
  record.attention_time_share =
      measured_share(record, [&](std::size_t i) { return is_all || is_in_mixer(record.launches[i].cost.scope); });
  judge_plausibility(record, bounds, roofs);
  warn_of_launch_sum(record);
}

void derive(Record& record, const profilers::Machine& machine) {
  derive(record, roofs_for(machine, record));
}

void predict(Record& record, const Roofs& roofs) {
  record.measured.reset();
  for (profilers::LaunchRecord& launch : record.launches) {
    launch.time_median_s.reset();
  }
  derive(record, roofs);
}

void predict(Record& record, const profilers::Machine& machine) {
  predict(record, roofs_for(machine, record));
}

} // namespace attnprof::reports
