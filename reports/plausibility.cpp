#include "reports/plausibility.hpp"

#include "reports/format.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace attnprof::reports {
namespace {

using profilers::Record;
using profilers::RoofVerdict;

/// Warnings of a derivation begin with these.
constexpr std::string_view kAboveRoof = "above the roof: ";
constexpr std::string_view kAtRoof = "at the roof: ";
constexpr std::string_view kImpossible = "implausible: ";

/// A timer step is up to a twentieth of a time that is read with it.
constexpr double kReadableSteps = 20;

/// The known bound that the time undercuts the most, with how many times it does.
struct Excess {
  std::string_view bound;
  double fraction = 0;
};
Excess excess_of(const TimeBounds& bounds, double time_s) {
  Excess out;
  for (const NamedBound& bound : by_kind(bounds)) {
    if (bound.time_s && *bound.time_s / time_s > out.fraction) {
      out = {bound.name, *bound.time_s / time_s};
    }
  }
  return out;
}

std::optional<double> step_of(const Record& record) {
  return record.measured ? record.measured->timer_resolution_s : std::optional<double>();
}

std::string faster_level(const Roofs& roofs, const std::string& level) {
  const auto at =
      std::find_if(roofs.memory.begin(), roofs.memory.end(), [&](const auto& m) { return m.level == level; });
  return at == roofs.memory.end() || at == roofs.memory.begin() ? std::string() : std::prev(at)->level;
}

/// Why a launch may seem faster than its roof.
std::string likely_cause(const Record& record, std::size_t launch, const TimeBounds& bounds, std::string_view bound,
                         const Roofs& roofs) {
  const operators::LaunchCost& cost = record.launches[launch].cost;
  const double time_s = *record.launches[launch].time_median_s;
  if (const auto step_s = step_of(record); step_s && time_s < kReadableSteps * *step_s) {
    return fmt::format("{} is too short for a timer with steps of {}", seconds(time_s), seconds(step_s));
  }
  if (bound == "memory") {
    const auto bytes = static_cast<double>((cost.bytes.read + cost.bytes.written).value());
    const std::string rates =
        fmt::format("{} where the {}{}{} ceiling allows {}", si(bytes / time_s, "B/s"), bounds.level,
                    bounds.traffic.empty() ? "" : " ", bounds.traffic, si(bytes / *bounds.memory_s, "B/s"));
    const std::string faster = faster_level(roofs, bounds.level);
    return faster.empty() ? rates + ", so that ceiling is too low"
                          : fmt::format("{}; its {} are probably held by {}", rates,
                                        capacity(cost.bytes.working_set.value()), faster);
  }
  const UnitRoof* roof = roof_of_unit(bound, roofs);
  return fmt::format("the {} ceiling ({}, {}) is too low for the clock or instructions that ran", bound, roof->label,
                     roof->origin);
}

/// Fractions of the roofs that launches reach, and the launch that reaches most.
struct Reached {
  std::size_t count = 0;
  std::size_t most = 0;
  double fraction = 0;
  std::string cause;
  void add(std::size_t launch, double reached, std::string why) {
    ++count;
    if (reached > fraction) {
      fraction = reached;
      most = launch;
      cause = std::move(why);
    }
  }
};

void judge_launches(Record& record, const std::vector<TimeBounds>& bounds, const Roofs& roofs) {
  Reached above;
  Reached at;
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    const auto& time_s = record.launches[i].time_median_s;
    if (!time_s || *time_s <= 0.0) {
      continue;
    }
    const Excess excess = excess_of(bounds[i], *time_s);
    if (excess.fraction <= 1.0) {
      continue;
    }
    std::string cause = likely_cause(record, i, bounds[i], excess.bound, roofs);
    if (excess.fraction > kImplausibleFraction) {
      record.launch_roofs[i].implausible = fmt::format("{} of its roof: {}", percent(excess.fraction), cause);
      above.add(i, excess.fraction, std::move(cause));
    } else {
      at.add(i, excess.fraction, {});
    }
  }
  if (above.count > 0) {
    record.warnings.push_back(fmt::format("{}{} of {} launches, most {} with {} of its roof: {}", kAboveRoof,
                                          above.count, record.launches.size(), record.launches[above.most].cost.scope,
                                          percent(above.fraction), above.cause));
  }
  if (at.count > 0) {
    record.warnings.push_back(fmt::format("{}{} of {} launches, most {} with {} of its roof: ceilings are not known "
                                          "better than that",
                                          kAtRoof, at.count, record.launches.size(),
                                          record.launches[at.most].cost.scope, percent(at.fraction)));
  }
}

/// What the case as a whole took, against the sum of its launches' roofs.
void judge_time(Record& record) {
  const double fraction = record.roof.roof_fraction.value_or(0.0);
  if (fraction > kImplausibleFraction) {
    record.roof.implausible =
        fmt::format("the case took {}, {} of the {} that its launches need by the ceilings; the data stays in a faster "
                    "level between launches, or a ceiling is too low",
                    seconds(record.measured->time_median_s), percent(1.0 / fraction), seconds(record.roof.roof_time_s));
    record.warnings.push_back(std::string(kAboveRoof) + record.roof.implausible);
  } else if (fraction > 1.0) {
    record.warnings.push_back(fmt::format("{}the case reaches {} of it: ceilings are not known better than that",
                                          kAtRoof, percent(fraction)));
  }
}

void reject(Record& record, const std::string& sentence) {
  if (record.roof.implausible.empty()) {
    record.roof.implausible = sentence;
  }
  record.warnings.push_back(std::string(kImpossible) + sentence);
}

/// What counters and clocks say of the case.
void judge_measurement(Record& record, const Roofs& roofs) {
  const profilers::Measurement& measured = *record.measured;
  const double time_s = *measured.time_median_s;
  const double sample_s = time_s * static_cast<double>(measured.iterations_per_sample);
  if (measured.timer_resolution_s && sample_s < kReadableSteps * *measured.timer_resolution_s) {
    reject(record, fmt::format("a sample of {} is too short for a timer with steps of {}", seconds(sample_s),
                               seconds(measured.timer_resolution_s)));
  }
  const profilers::CounterTotals& counters = measured.counters;
  if (counters.dram_bytes && !roofs.memory.empty()) {
    const double rate = static_cast<double>(*counters.dram_bytes) / time_s;
    double most = roofs.memory.back().bytes_per_s;
    for (const TrafficRoof& kind : roofs.memory.back().kinds) {
      most = std::max(most, kind.bytes_per_s);
    }
    if (rate > kImplausibleFraction * most) {
      reject(record, fmt::format("{} read from memory by the counters where the {} ceiling allows {}: the counter or "
                                 "the ceiling is wrong",
                                 si(rate, "B/s"), roofs.memory.back().level, si(most, "B/s")));
    }
  }
  const UnitRoof* matrix = roof_of_unit("compute", roofs);
  const UnitRoof* vector = roof_of_unit("vector", roofs);
  if (counters.fp_ops && !counters.fp_ops_are_counted && matrix != nullptr) {
    const double most = std::max(matrix->per_s, vector == nullptr ? 0.0 : vector->per_s);
    const double rate = static_cast<double>(*counters.fp_ops) / time_s;
    if (rate > kImplausibleFraction * most) {
      reject(record, fmt::format("{} by the counters where the fastest unit reaches {}: the counter or the ceiling is "
                                 "wrong",
                                 si(rate, "FLOP/s"), si(most, "FLOP/s")));
    }
  }
  if (counters.l2_misses && counters.llc_misses &&
      static_cast<double>(*counters.llc_misses) > kImplausibleFraction * static_cast<double>(*counters.l2_misses)) {
    reject(record, fmt::format("{} misses of the last cache level and {} of the second: prefetches or write-backs are "
                               "counted in one of them alone, or a counter is wrong",
                               *counters.llc_misses, *counters.l2_misses));
  }
}

} // namespace

void judge_plausibility(Record& record, const std::vector<TimeBounds>& bounds, const Roofs& roofs) {
  const bool is_timed = record.measured && record.measured->time_median_s && *record.measured->time_median_s > 0.0;
  if (is_timed) {
    judge_time(record);
  }
  judge_launches(record, bounds, roofs);
  if (is_timed) {
    judge_measurement(record, roofs);
  }
}

bool is_plausibility_warning(std::string_view warning) {
  return warning.starts_with(kAboveRoof) || warning.starts_with(kAtRoof) || warning.starts_with(kImpossible);
}

std::string implausible_reason(const Record& record) {
  if (!record.roof.implausible.empty()) {
    return record.roof.implausible;
  }
  for (std::size_t i = 0; i < record.launch_roofs.size(); ++i) {
    if (!record.launch_roofs[i].implausible.empty()) {
      return fmt::format("{}: {}", record.launches[i].cost.scope, record.launch_roofs[i].implausible);
    }
  }
  return {};
}

} // namespace attnprof::reports
