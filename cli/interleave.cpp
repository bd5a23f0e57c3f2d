#include "cli/interleave.hpp"

#include <algorithm>

namespace attnprof::cli {
namespace {

using profilers::Measurement;

/// Two visits a round.
constexpr double kVisits = 2.0 * kInterleavedRounds;

profilers::MeasureOptions visit_options(const profilers::MeasureOptions& timing) {
  profilers::MeasureOptions out = timing;
  out.warmup = 1; // brings back what the other cases pushed out of the caches
  out.repetitions.reset();
  if (timing.repetitions) {
    out.repetitions = std::max<std::int64_t>(1, *timing.repetitions / static_cast<std::int64_t>(kVisits));
  }
  out.min_time_s = timing.min_time_s / kVisits;
  out.max_noise.reset(); // a visit stops on its share of the time, so that all rounds weigh the same
  out.timeout_s = timing.timeout_s / kVisits;
  out.min_samples = 1;
  return out;
}

/// Adds the samples of a visit; summary figures are made once, at the end.
void append(std::optional<Measurement>& total, Measurement visit) {
  if (!total) {
    total = std::move(visit);
    return;
  }
  total->samples_s.insert(total->samples_s.end(), visit.samples_s.begin(), visit.samples_s.end());
  total->conditions.insert(total->conditions.end(), visit.conditions.begin(), visit.conditions.end());
  total->warmup_runs += visit.warmup_runs;
  const auto add = [](auto& sum, const auto& part) {
    if (sum && part) {
      *sum += *part;
    }
  };
  add(total->page_faults, visit.page_faults);
  add(total->context_switches, visit.context_switches);
  add(total->steal_s, visit.steal_s);
  total->stop_reason = visit.stop_reason;
  for (std::string& warning : visit.warnings) {
    if (std::find(total->warnings.begin(), total->warnings.end(), warning) == total->warnings.end()) {
      total->warnings.push_back(std::move(warning));
    }
  }
}

void summarise(Measurement& measured, double max_noise) {
  const std::vector<double>& samples = measured.samples_s;
  measured.time_median_s = profilers::median(samples);
  measured.time_min_s =
      samples.empty() ? std::nullopt : std::optional(*std::min_element(samples.begin(), samples.end()));
  measured.time_mad_s = profilers::median_absolute_deviation(samples);
  const std::optional<profilers::Interval> interval = profilers::bootstrap_median_interval(samples);
  measured.time_ci_low_s = interval ? std::optional(interval->low) : std::nullopt;
  measured.time_ci_high_s = interval ? std::optional(interval->high) : std::nullopt;
  std::vector<double> clocks;
  for (const profilers::SampleConditions& condition : measured.conditions) {
    if (condition.cpu_clock_hz) {
      clocks.push_back(*condition.cpu_clock_hz);
    }
  }
  measured.cpu_clock_hz = profilers::median(clocks);
  profilers::VerdictOptions options;
  options.max_noise = max_noise;
  const profilers::Verdict verdict =
      profilers::judge(samples, measured.conditions, measured.iterations_per_sample, options);
  measured.stability = verdict.stability;
  measured.stability_reason = verdict.reason;
}

} // namespace

RoundMedians measure_interleaved(std::vector<PreparedCase>& cases, const MeasuringRequest& measuring, Seams& seams) {
  RoundMedians out;
  out.medians_s.resize(cases.size());
  const profilers::MeasureOptions options = visit_options(measuring.timing);
  const auto visit = [&](std::size_t i, const profilers::MeasureOptions& how) {
    return profilers::measure([&] { cases[i].program->run(); }, how, cases[i].timer(seams), *seams.host, cases[i].cache,
                              seams.interrupt->requested);
  };
  // Until steady, once for each case; what it measures is dropped.
  profilers::MeasureOptions warm = options;
  warm.warmup = measuring.timing.warmup;
  warm.timeout_s = measuring.timing.timeout_s;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].program != nullptr && !seams.interrupt->requested) {
      visit(i, warm);
    }
  }
  for (int round = 0; round < kInterleavedRounds && !seams.interrupt->requested; ++round) {
    std::vector<std::vector<double>> samples(cases.size());
    for (std::size_t step = 0; step < 2 * cases.size(); ++step) {
      const std::size_t i = step < cases.size() ? step : 2 * cases.size() - 1 - step;
      if (cases[i].program == nullptr || seams.interrupt->requested) {
        continue;
      }
      Measurement measured = visit(i, options);
      samples[i].insert(samples[i].end(), measured.samples_s.begin(), measured.samples_s.end());
      append(cases[i].record.measured, std::move(measured));
    }
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (const std::optional<double> median = profilers::median(samples[i])) {
        out.medians_s[i].push_back(*median);
      }
    }
  }
  for (PreparedCase& one : cases) {
    if (one.record.measured) {
      summarise(*one.record.measured, measuring.timing.max_noise.value_or(profilers::VerdictOptions().max_noise));
    }
  }
  return out;
}

std::optional<PairedRatio> paired_ratio(const std::vector<double>& base_s, const std::vector<double>& other_s) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(base_s.size(), other_s.size()); ++i) {
    if (base_s[i] > 0) {
      ratios.push_back(other_s[i] / base_s[i]);
    }
  }
  const std::optional<double> ratio = profilers::median(ratios);
  if (!ratio) {
    return std::nullopt;
  }
  return PairedRatio{*ratio, profilers::bootstrap_median_interval(ratios)};
}

std::string_view verdict_of(const PairedRatio& ratio) {
  if (!ratio.interval || (ratio.interval->low <= 1 && ratio.interval->high >= 1)) {
    return "no difference shown";
  }
  return ratio.interval->low > 1 ? "slower" : "faster";
}

std::vector<std::vector<std::size_t>> comparison_groups(const std::vector<PlannedCase>& cases) {
  const auto without_plan = [](const PlannedCase& one) {
    operators::Config config = one.config;
    config.erase("plan");
    return config;
  };
  const bool only_plans_differ = std::all_of(cases.begin(), cases.end(), [&](const PlannedCase& one) {
    return without_plan(one) == without_plan(cases.front());
  });
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto same_plan = [&](const std::vector<std::size_t>& group) {
      return only_plans_differ || cases[group.front()].config.get("plan") == cases[i].config.get("plan");
    };
    const auto found = std::find_if(groups.begin(), groups.end(), same_plan);
    if (found == groups.end()) {
      groups.push_back({i});
    } else {
      found->push_back(i);
    }
  }
  return groups;
}

} // namespace attnprof::cli
