#include "profilers/stability.hpp"

#include "profilers/host_probe.hpp"
#include "profilers/stopping.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

namespace attnprof::profilers {
namespace {

std::vector<double> clocks_of(std::span<const SampleConditions> conditions) {
  std::vector<double> clocks;
  for (const auto& condition : conditions)
    if (condition.cpu_clock_hz)
      clocks.push_back(*condition.cpu_clock_hz);
  return clocks;
}

// The conditions of the slowest quarter of the samples beside those of the rest.
struct Contrast {
  double slow_excess_s = 0;
  double slow_steal_s = 0;
  double slow_faults = 0;
  double rest_faults = 0;
  double slow_switches = 0;
  double rest_switches = 0;
  std::optional<double> slow_clock_hz;
  std::optional<double> rest_clock_hz;
  std::optional<double> slow_issue_rate;
  std::optional<double> rest_issue_rate;
  bool any_known = false;
};

Contrast contrast(std::span<const double> samples_s, std::span<const SampleConditions> conditions,
                  std::int64_t iterations) {
  Contrast result;
  const double center = *median(samples_s);
  const double slow_from = *quantile(samples_s, 0.75);
  std::vector<double> slow_clocks;
  std::vector<double> rest_clocks;
  std::vector<double> slow_rates;
  std::vector<double> rest_rates;
  double slow_count = 0;
  double rest_count = 0;
  for (std::size_t i = 0; i < std::min(samples_s.size(), conditions.size()); ++i) {
    const SampleConditions& condition = conditions[i];
    const bool slow = samples_s[i] >= slow_from && samples_s[i] > center;
    (slow ? slow_count : rest_count) += 1;
    (slow ? result.slow_faults : result.rest_faults) += static_cast<double>(condition.page_faults.value_or(0));
    (slow ? result.slow_switches : result.rest_switches) += static_cast<double>(condition.context_switches.value_or(0));
    if (slow) {
      result.slow_excess_s += (samples_s[i] - center) * static_cast<double>(iterations);
      result.slow_steal_s += condition.steal_s.value_or(0);
    }
    if (condition.cpu_clock_hz)
      (slow ? slow_clocks : rest_clocks).push_back(*condition.cpu_clock_hz);
    if (condition.issue_rate)
      (slow ? slow_rates : rest_rates).push_back(*condition.issue_rate);
    result.any_known |= condition.steal_s || condition.page_faults || condition.context_switches ||
                        condition.cpu_clock_hz || condition.issue_rate;
  }
  result.slow_faults /= std::max(1.0, slow_count);
  result.rest_faults /= std::max(1.0, rest_count);
  result.slow_switches /= std::max(1.0, slow_count);
  result.rest_switches /= std::max(1.0, rest_count);
  result.slow_clock_hz = median(slow_clocks);
  result.rest_clock_hz = median(rest_clocks);
  result.slow_issue_rate = median(slow_rates);
  result.rest_issue_rate = median(rest_rates);
  return result;
}

// What sets the slow samples apart, the cause hardest to remedy from inside the process first.
std::string likely_cause(std::span<const double> samples_s, std::span<const SampleConditions> conditions,
                         std::int64_t iterations) {
  const Contrast found = contrast(samples_s, conditions, iterations);
  if (!found.any_known)
    return "the host tells nothing about causes";
  if (found.slow_steal_s > 0 && found.slow_steal_s >= 0.2 * found.slow_excess_s)
    return fmt::format("steal: the hypervisor took {:.3g} s during the slow samples", found.slow_steal_s);
  if (found.slow_clock_hz && found.rest_clock_hz && *found.slow_clock_hz < 0.97 * *found.rest_clock_hz)
    return fmt::format("clock: slow samples ran at {:.2f} GHz, the others at {:.2f} GHz", *found.slow_clock_hz * 1e-9,
                       *found.rest_clock_hz * 1e-9);
  if (found.slow_issue_rate && found.rest_issue_rate && is_core_shared(*found.slow_issue_rate, *found.rest_issue_rate))
    return fmt::format("shared core: another hardware thread used the one that starts the work during slow samples "
                       "({:.1f} operations a cycle, {:.1f} "
                       "in the others)",
                       *found.slow_issue_rate, *found.rest_issue_rate);
  if (found.slow_faults >= 1 && found.slow_faults > 2 * found.rest_faults)
    return fmt::format("page faults: {:.1f} a slow sample, {:.1f} in the others", found.slow_faults, found.rest_faults);
  if (found.slow_switches > 0.5 && found.slow_switches > 2 * found.rest_switches)
    return fmt::format("context switches: {:.1f} a slow sample, {:.1f} in the others", found.slow_switches,
                       found.rest_switches);
  return "no steal, clock change, shared core, page fault or context switch sets the slow samples apart";
}

std::optional<Verdict> judge_drift(std::span<const double> samples_s, std::span<const SampleConditions> conditions,
                                   std::int64_t iterations, const VerdictOptions& options) {
  const auto drift = drift_by_quarters(samples_s);
  if (!drift || !drift->significant)
    return std::nullopt;
  const bool slower = drift->best_to_last <= -options.max_drift;
  if (slower) {
    const std::vector<double> clocks = clocks_of(conditions);
    const auto clock = drift_of_rates(clocks);
    // A clock that explains at least half of the loss is its cause; a fixed limit would blame it for every wobble.
    if (clock && clock->best_to_last <= drift->best_to_last / 2)
      return Verdict{Stability::kThrottled,
                     fmt::format("speed fell {:.1f} % below the best quarter's while the clock fell {:.1f} %",
                                 -100 * drift->best_to_last, -100 * clock->best_to_last)};
    return Verdict{Stability::kDrift,
                   fmt::format("speed of the last quarter is {:.1f} % below the best quarter's; {}",
                               -100 * drift->best_to_last, likely_cause(samples_s, conditions, iterations))};
  }
  if (drift->first_to_last >= options.max_drift)
    return Verdict{Stability::kDrift,
                   fmt::format("speed rose {:.1f} % from the first to the last quarter: the warm-up was too short",
                               100 * drift->first_to_last)};
  return std::nullopt;
}

} // namespace

std::string_view name_of(Stability stability) {
  switch (stability) {
  case Stability::kStable: return "STABLE";
  case Stability::kNoisy: return "NOISY";
  case Stability::kDrift: return "DRIFT";
  case Stability::kThrottled: return "THROTTLED";
  case Stability::kTooShort: return "TOO_SHORT";
  }
  return "";
}

std::optional<std::string> shared_core_warning(std::span<const SampleConditions> conditions) {
  std::vector<double> rates;
  for (const SampleConditions& condition : conditions)
    if (condition.issue_rate)
      rates.push_back(*condition.issue_rate);
  if (rates.empty())
    return std::nullopt;
  const double best = *std::max_element(rates.begin(), rates.end());
  if (best < kHalfCoreRate)
    return fmt::format(
        "the core issued at most {:.1f} independent operations a cycle beside the samples: another hardware "
        "thread, perhaps of another guest, used it throughout, or it is a narrow one",
        best);
  const auto shared =
      std::count_if(rates.begin(), rates.end(), [&](double rate) { return is_core_shared(rate, best); });
  if (shared == 0)
    return std::nullopt;
  return fmt::format("{} of {} samples shared the core that starts the work with another hardware thread, perhaps of "
                     "another guest: down to {:.1f} of {:.1f} independent operations a cycle; all are kept",
                     shared, rates.size(), *std::min_element(rates.begin(), rates.end()), best);
}

Verdict judge(std::span<const double> samples_s, std::span<const SampleConditions> conditions,
              std::int64_t iterations_per_sample, const VerdictOptions& options) {
  if (samples_s.empty())
    return {std::nullopt, "no sample was taken"};
  const double sample_s = *median(samples_s) * static_cast<double>(iterations_per_sample);
  if (!options.least_sample_s)
    return {Stability::kTooShort, "the timer did not move while it was probed"};
  if (sample_s < *options.least_sample_s)
    return {Stability::kTooShort, fmt::format("a sample of {:.3g} s is below the {:.3g} s that the timer can resolve",
                                              sample_s, *options.least_sample_s)};
  if (samples_s.size() < kMinIntervalSamples)
    return {
        Stability::kTooShort,
        fmt::format("{} samples are too few to tell noise from speed, which takes {}; raise --timeout or --min-time",
                    samples_s.size(), kMinIntervalSamples)};
  if (const auto verdict = judge_drift(samples_s, conditions, iterations_per_sample, options))
    return *verdict;
  const auto relative = options.interval ? relative_noise(samples_s, options.interval) : relative_noise(samples_s);
  const double noise = relative.value_or(0);
  if (noise > options.max_noise)
    return {Stability::kNoisy,
            fmt::format("the interval of the median is +-{:.1f} % wide, beyond {:.1f} %; {}", 100 * noise,
                        100 * options.max_noise, likely_cause(samples_s, conditions, iterations_per_sample))};
  return {Stability::kStable,
          fmt::format("the interval of the median is +-{:.2g} % over {} samples", 100 * noise, samples_s.size())};
}

} // namespace attnprof::profilers
