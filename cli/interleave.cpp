#include "cli/interleave.hpp"

#include "profilers/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace attnprof::cli {
namespace {

using profilers::Measurement;

/// As many rounds as half the timeout holds, with a warm-up run and a sample in each of the two visits.
int rounds_for(const std::vector<PreparedCase>& cases, const MeasuringRequest& measuring) {
  double round_s = 0;
  for (const PreparedCase& one : cases) {
    constexpr double kRunsPerRound = 4;
    round_s += one.program == nullptr ? 0 : kRunsPerRound * one.first_run_s;
  }
  const double budget_s = measuring.timing.timeout_s / 2 * static_cast<double>(cases.size());
  const double fitting = round_s > 0 ? budget_s / round_s : kMostRounds;
  return static_cast<int>(std::clamp(fitting, double{kFewestRounds}, double{kMostRounds}));
}

profilers::MeasureOptions visit_options(const profilers::MeasureOptions& timing, int rounds) {
  const double visits = 2.0 * rounds;
  profilers::MeasureOptions out = timing;
  out.warmup = 1; // brings back what the other cases pushed out of the caches
  out.repetitions.reset();
  if (timing.repetitions) {
    out.repetitions = std::max<std::int64_t>(1, *timing.repetitions / static_cast<std::int64_t>(visits));
  }
  out.min_time_s = timing.min_time_s / visits;
  out.max_noise.reset(); // a visit stops on its share of the time, so that all rounds weigh the same
  out.timeout_s = timing.timeout_s / visits;
  out.min_samples = 1;
  out.is_visit = true;
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
  profilers::summarise_core(measured);
  if (const std::optional<std::string> shared = profilers::shared_core_warning(measured.conditions)) {
    measured.warnings.push_back(*shared);
  }
  profilers::VerdictOptions options;
  options.least_sample_s = profilers::least_sample_s(measured);
  options.max_noise = max_noise;
  options.interval = interval;
  const profilers::Verdict verdict =
      profilers::judge(samples, measured.conditions, measured.iterations_per_sample, options);
  measured.stability = verdict.stability;
  measured.stability_reason = verdict.reason;
}

} // namespace

RoundMedians measure_interleaved(std::vector<PreparedCase>& cases, const MeasuringRequest& measuring, Seams& seams) {
  RoundMedians out;
  out.medians_s.resize(cases.size());
  const int count = rounds_for(cases, measuring);
  const profilers::MeasureOptions options = visit_options(measuring.timing, count);
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
  for (int round = 0; round < count && !seams.interrupt->requested; ++round) {
    std::vector<std::vector<double>> samples(cases.size());
    std::vector<std::vector<double>> visits(cases.size());
    for (std::size_t step = 0; step < 2 * cases.size(); ++step) {
      const std::size_t i = step < cases.size() ? step : 2 * cases.size() - 1 - step;
      if (cases[i].program == nullptr || seams.interrupt->requested) {
        continue;
      }
      Measurement measured = visit(i, options);
      samples[i].insert(samples[i].end(), measured.samples_s.begin(), measured.samples_s.end());
      visits[i].push_back(profilers::median(measured.samples_s).value_or(0.0));
      append(cases[i].record.measured, std::move(measured));
    }
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (const std::optional<double> median = profilers::median(samples[i])) {
        out.medians_s[i].push_back(*median);
      }
      if (visits[i].size() == 2 && visits[i][0] > 0 && visits[i][1] > 0) {
        out.self_log_ratios.push_back(std::log(visits[i][1] / visits[i][0]));
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

TurnComparison compare_turns(const RoundMedians& rounds, const std::vector<std::vector<std::size_t>>& groups,
                             std::optional<double> threshold) {
  TurnComparison out;
  out.verdicts.resize(rounds.medians_s.size());
  out.threshold = threshold.value_or(kDefaultThreshold);
  double least_error = 0;
  const auto spread = profilers::spread_about_zero(rounds.self_log_ratios);
  if (spread && !rounds.medians_s.empty()) {
    // A visit scatters by spread / sqrt 2, and so does the ratio of two pairs of visits; the median of all rounds by
    // 1.2533 / sqrt of their number of that.
    constexpr double kMeanToMedian = 1.2533;
    const auto count = static_cast<double>(std::max<std::size_t>(1, rounds.medians_s.front().size()));
    least_error = *spread / std::sqrt(2.0) * kMeanToMedian / std::sqrt(count);
    out.noise_floor = profilers::noise_floor(least_error);
    out.self_tests = rounds.self_log_ratios.size();
    out.threshold = usable_threshold(threshold, *out.noise_floor, out.self_tests, out.notes);
  }
  std::vector<std::pair<std::size_t, profilers::Effect>> effects;
  std::vector<double> p;
  for (const std::vector<std::size_t>& group : groups) {
    for (std::size_t i = 1; i < group.size(); ++i) {
      auto effect = profilers::paired_effect(rounds.medians_s[group.front()], rounds.medians_s[group[i]]);
      if (effect) {
        effect->standard_error = std::max(effect->standard_error, least_error);
        p.push_back(profilers::difference_p(*effect));
        effects.emplace_back(group[i], *effect);
      }
    }
  }
  const std::vector<double> adjusted = profilers::holm_adjusted(p);
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const profilers::Effect& effect = effects[i].second;
    const profilers::Interval interval = profilers::interval_of(effect);
    const double significance = kFalseAlarm / static_cast<double>(effects.size());
    out.verdicts[effects[i].first] = TurnVerdict{std::exp(effect.log_ratio),
                                                 {std::exp(interval.low), std::exp(interval.high)},
                                                 adjusted[i],
                                                 std::expm1(profilers::detectable_log_ratio(effect, significance)),
                                                 verdict_of(effect, adjusted[i], out.threshold)};
  }
  return out;
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
