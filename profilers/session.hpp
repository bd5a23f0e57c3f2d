// Measuring one body of work: warm-up, batching, sampling, verdict. Driven by seams, so that a fake clock covers it
// all.
#pragma once

#include "profilers/cache_control.hpp"
#include "profilers/clock.hpp"
#include "profilers/host_probe.hpp"
#include "profilers/perf/counter_totals.hpp"
#include "profilers/stability.hpp"
#include "profilers/stopping.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::profilers {

struct MeasureOptions {
  /// Runs of the body before sampling; absent: until two successive windows agree, at most a fifth of the timeout.
  std::optional<std::int64_t> warmup;
  /// Exactly so many samples; absent: as many as the noise target needs.
  std::optional<std::int64_t> repetitions;
  double min_time_s = 0.2;
  /// Relative half-width of the median's interval to reach; absent: stop on the minimum time, judge at 2 %.
  std::optional<double> max_noise = 0.02;
  double timeout_s = 5; ///< of warm-up and samples together; the sample that is being taken is finished
  std::int64_t min_samples = 10;
  /// One of several visits to the body: what is said of the samples of all is left to the caller.
  bool is_visit = false;
};

/// Throws operators::Error(kUsage) that names the flag and its value when an option is out of range.
void validate(const MeasureOptions& options);

/// What one measurement found. Times are those of one run of the body, in seconds; absent where samples are too few.
struct Measurement {
  std::vector<double> samples_s;            ///< all of them, in order
  std::vector<SampleConditions> conditions; ///< of the same samples
  std::int64_t iterations_per_sample = 1;
  std::optional<double> time_median_s;
  std::optional<double> time_min_s;
  std::optional<double> time_ci_low_s;
  std::optional<double> time_ci_high_s;
  std::optional<double> time_mad_s;
  StopReason stop_reason = StopReason::kInterrupted;
  std::optional<Stability> stability;
  std::string stability_reason;
  std::string timer;
  std::optional<double> timer_resolution_s;
  std::optional<double> cpu_clock_hz;           ///< median over the samples
  std::optional<double> issue_rate;             ///< independent operations a cycle, median over the samples
  std::optional<std::int64_t> page_faults;      ///< sum over the samples
  std::optional<std::int64_t> context_switches; ///< sum over the samples
  std::optional<double> steal_s;                ///< sum over the samples
  CounterTotals counters;                       ///< of the counter pass, which is never part of the samples
  std::int64_t warmup_runs = 0; ///< runs of the body before the first sample, those that sized it included
  double warmup_s = 0;          ///< that they took; not part of the record
  CachePolicy cache_policy = CachePolicy::kWarm;
  std::vector<std::string> warnings;
};

/// Time of a whole sample from which the timer's step no longer matters; absent where the timer does not move.
std::optional<double> least_sample_s(const Measurement& measured);

/// The clock and the issue rate of a measurement, from its samples' conditions.
void summarise_core(Measurement& measured);

/// Measures `body`. Nothing but the body runs between the two clock reads of a sample. Unless the cache policy is cold,
/// the body is repeated inside a sample until the sample is 1000 times the timer's step (BUG-139). Throws what `body`
/// throws, and operators::Error for options out of range.
Measurement measure(const std::function<void()>& body, const MeasureOptions& options, Clock& clock, HostProbe& host,
                    const CacheControl& cache, const std::atomic<bool>& interrupted);

/// Times of one launch over the rounds of a launch pass.
struct LaunchTiming {
  std::optional<double> time_median_s;
  std::optional<double> time_min_s;
  std::int64_t samples = 0;
  double warmup_s = 0; ///< of the run before the first round
  double timed_s = 0;  ///< over all rounds
  /// True when the median is less than 20 steps of the timer: the number has at most one digit.
  bool below_resolution = false;
};

/// One run of all launches, before anything is measured.
struct FirstRun {
  double time_s = 0;
  std::size_t launches = 0; ///< that were run
  bool is_whole = false;
};

/// Runs the launches in order and gives up between two of them once `most_s` are over or an interrupt came, so that a
/// case of unknown length cannot hold the process for ever.
FirstRun run_once(std::size_t count, const std::function<void(std::size_t)>& run_launch, double most_s, Clock& clock,
                  const std::atomic<bool>& interrupted);

struct LaunchOptions {
  std::int64_t min_rounds = 5;
  std::int64_t max_rounds = 1000;
  double min_time_s = 0.1;
  double timeout_s = 2; ///< with the run before the first round; one round is always made
};

/// Times each of `count` launches in a pass of its own: all launches in program order, round after round, so that each
/// finds the caches as the real run leaves them. These times explain a measurement, they do not replace it.
std::vector<LaunchTiming> measure_launches(std::size_t count, const std::function<void(std::size_t)>& run_launch,
                                           const LaunchOptions& options, Clock& clock, const CacheControl& cache,
                                           const std::atomic<bool>& interrupted);

} // namespace attnprof::profilers
