#include "reports/derive.hpp"

#include "reports/format.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

namespace attnprof::reports {
namespace {

using profilers::Record;
using profilers::RoofVerdict;

/// Warnings of a derivation begin with this, so that the next derivation can replace them.
constexpr std::string_view kAboveRoof = "above the roof: ";

std::optional<double> positive(std::optional<double> value) {
  return value && *value > 0.0 ? value : std::optional<double>{};
}

struct NamedBound {
  std::string_view name;
  std::optional<double> time_s;
};

std::array<NamedBound, 4> by_kind(const TimeBounds& bounds) {
  return {{{"compute", bounds.matrix_s},
           {"vector", bounds.vector_s},
           {"transcendental", bounds.transcendental_s},
           {"memory", bounds.memory_s}}};
}

const UnitRoof* first_of(std::initializer_list<const std::optional<UnitRoof>*> roofs) {
  for (const auto* roof : roofs) {
    if (roof->has_value() && (*roof)->per_s > 0.0) {
      return &**roof;
    }
  }
  return nullptr;
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

TimeBounds time_bounds(const operators::LaunchCost& cost, const Roofs& roofs) {
  TimeBounds out;
  const operators::Count plain_flops = cost.work.vector_flops - cost.work.transcendentals;
  out.matrix_s = least_time(cost.work.matmul_flops(), first_of({&roofs.matrix}), out.complete);
  out.vector_s = least_time(plain_flops, first_of({&roofs.vector, &roofs.matrix}), out.complete);
  out.transcendental_s = least_time(cost.work.transcendentals,
                                    first_of({&roofs.transcendental, &roofs.vector, &roofs.matrix}), out.complete);
  const operators::Count bytes = cost.bytes.read + cost.bytes.written;
  if (bytes > 0) {
    const MemoryRoof* level = roofs.level_of(cost.bytes.working_set.value());
    if (level == nullptr) {
      out.complete = false;
    } else {
      out.memory_s = static_cast<double>(bytes.value()) / level->bytes_per_s;
      out.level = level->level;
    }
  }
  return out;
}

RoofVerdict roof_verdict(const TimeBounds& bounds, operators::Count flops, std::optional<double> time_s) {
  RoofVerdict out;
  out.roof_level = bounds.level;
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
    out.roof_fraction = most_s / *measured_s;
    if (*measured_s > kOverheadMultiple * most_s && *measured_s < kOverheadTimeS) {
      out.bound = "overhead";
      out.bound_margin = *measured_s / most_s;
    }
  }
  return out;
}

bool is_ambiguous(const RoofVerdict& verdict) {
  return verdict.bound_margin && *verdict.bound_margin < kAmbiguousMargin;
}

bool is_attention(const Record& record, std::string_view scope) {
  const auto* layout = std::get_if<std::string>(&record.config.get("layout"));
  if (layout != nullptr && *layout == "op" && !record.config.has("model")) {
    return true;
  }
  const std::string path = fmt::format("/{}/", scope);
  return path.find("/mixer/") != std::string::npos;
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

/// The level that the most memory time is spent on.
std::string busiest_level(const std::vector<TimeBounds>& bounds) {
  std::map<std::string, double> time_of_level;
  for (const TimeBounds& bound : bounds) {
    if (bound.memory_s) {
      time_of_level[bound.level] += *bound.memory_s;
    }
  }
  const auto most = std::max_element(time_of_level.begin(), time_of_level.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == time_of_level.end() ? std::string() : most->first;
}

RoofVerdict case_verdict(const Record& record, const std::vector<TimeBounds>& bounds) {
  RoofVerdict out;
  out.roof_level = busiest_level(bounds);
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
  if (record.measured) {
    if (const auto time_s = positive(record.measured->time_median_s)) {
      out.roof_fraction = roof_time_s / *time_s;
    }
  }
  const std::vector<BoundShare> shares = bound_shares(record);
  if (!shares.empty()) {
    out.bound = shares[0].bound;
    if (shares.size() > 1 && shares[1].share > 0.0) {
      out.bound_margin = shares[0].share / shares[1].share;
    }
  }
  return out;
}

std::string faster_level(const Roofs& roofs, const std::string& level) {
  const auto at =
      std::find_if(roofs.memory.begin(), roofs.memory.end(), [&](const auto& m) { return m.level == level; });
  return at == roofs.memory.end() || at == roofs.memory.begin() ? std::string() : std::prev(at)->level;
}

/// Why a launch may seem faster than its roof.
std::string likely_cause(const Record& record, std::size_t launch, const Roofs& roofs) {
  const RoofVerdict& verdict = record.launch_roofs[launch];
  const operators::LaunchCost& cost = record.launches[launch].cost;
  const double time_s = *record.launches[launch].time_median_s;
  const auto resolution_s = record.measured ? record.measured->timer_resolution_s : std::optional<double>();
  if (resolution_s && time_s < 20.0 * *resolution_s) {
    return fmt::format("{} is too short for a timer with steps of {}", seconds(time_s), seconds(resolution_s));
  }
  if (verdict.bound == "memory") {
    const double bytes = static_cast<double>((cost.bytes.read + cost.bytes.written).value());
    const std::string rates = fmt::format("{} where the {} ceiling is {}", si(bytes / time_s, "B/s"),
                                          verdict.roof_level, si(bytes / *verdict.roof_time_s, "B/s"));
    const std::string faster = faster_level(roofs, verdict.roof_level);
    return faster.empty() ? rates + ", so that ceiling is too low"
                          : fmt::format("{}; its {} are probably held by {}", rates,
                                        capacity(cost.bytes.working_set.value()), faster);
  }
  const UnitRoof* roof = verdict.bound == "compute"  ? first_of({&roofs.matrix})
                         : verdict.bound == "vector" ? first_of({&roofs.vector, &roofs.matrix})
                                                     : first_of({&roofs.transcendental, &roofs.vector, &roofs.matrix});
  return fmt::format("the {} ceiling ({}, {}) is too low for the clock or instructions that ran", verdict.bound,
                     roof->label, roof->origin);
}

void warn_above_roof(Record& record, const Roofs& roofs) {
  std::erase_if(record.warnings, [](const std::string& warning) { return warning.starts_with(kAboveRoof); });
  if (record.roof.roof_fraction && *record.roof.roof_fraction > kImplausibleFraction) {
    record.warnings.push_back(fmt::format(
        "{}the case took {}, {} of the {} that its launches need by the ceilings; the data stays in a faster level "
        "between launches, or a ceiling is too low",
        kAboveRoof, seconds(record.measured->time_median_s), percent(1.0 / *record.roof.roof_fraction),
        seconds(record.roof.roof_time_s)));
  }
  std::size_t count = 0;
  std::size_t worst = 0;
  for (std::size_t i = 0; i < record.launch_roofs.size(); ++i) {
    const double fraction = record.launch_roofs[i].roof_fraction.value_or(0.0);
    if (fraction > kImplausibleFraction) {
      worst = count == 0 || fraction > *record.launch_roofs[worst].roof_fraction ? i : worst;
      ++count;
    }
  }
  if (count > 0) {
    record.warnings.push_back(fmt::format("{}{} of {} launches, most {} with {} of its roof: {}", kAboveRoof, count,
                                          record.launches.size(), record.launches[worst].cost.scope,
                                          percent(record.launch_roofs[worst].roof_fraction),
                                          likely_cause(record, worst, roofs)));
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
  std::vector<TimeBounds> bounds;
  for (const profilers::LaunchRecord& launch : record.launches) {
    bounds.push_back(time_bounds(launch.cost, roofs));
    record.launch_roofs.push_back(roof_verdict(bounds.back(), launch.cost.work.flops(), launch.time_median_s));
  }
  record.roof = case_verdict(record, bounds);
  const bool known = !record.roof.bound.empty();
  record.memory_bound_time_share =
      known ? measured_share(record, [&](std::size_t i) { return record.launch_roofs[i].bound == "memory"; })
            : std::optional<double>();
  record.attention_time_share =
      measured_share(record, [&](std::size_t i) { return is_attention(record, record.launches[i].cost.scope); });
  warn_above_roof(record, roofs);
}

void derive(Record& record, const profilers::Machine& machine) {
  derive(record, roofs_for(machine, record));
}

void predict(Record& record, const profilers::Machine& machine) {
  record.measured.reset();
  for (profilers::LaunchRecord& launch : record.launches) {
    launch.time_median_s.reset();
  }
  derive(record, machine);
}

} // namespace attnprof::reports
