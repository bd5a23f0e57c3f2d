// When a warm-up and when a measurement have lasted long enough: rules over samples, without a clock of their own.
#pragma once

#include "profilers/statistics.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace attnprof::profilers {

/// Why sampling ended; `name_of` is what the `stop_reason` column holds.
enum class StopReason {
  kNoiseReached, ///< the interval of the median is as narrow as asked
  kMinTime,      ///< no noise target was set and the minimum time is over
  kRepetitions,  ///< exactly the requested number of samples was taken
  kTimeout,      ///< the time cap struck first
  kSampleCap,    ///< more samples would not fit the memory set aside for them
  kInterrupted,  ///< the user asked to stop
};
std::string_view name_of(StopReason reason);

struct StopCriteria {
  /// Exactly so many samples; the noise target and the minimum time then do not apply, the timeout does.
  std::optional<std::int64_t> repetitions;
  /// Least time spent inside samples.
  double min_time_s = 0.2;
  /// Half-width of the median's 95 % interval relative to the median; absent: stop on the minimum time alone.
  std::optional<double> max_noise = 0.02;
  /// Most wall time of warm-up and sampling, cache flushes included. A busy machine may hold up short samples for so long
  /// that too few are there for an interval: up to three times as long is spent where the fastest of them says that the
  /// missing ones need little.
  double timeout_s = 5;
  std::int64_t min_samples = 10;
  std::int64_t max_samples = 100'000;
};

/// Half-width of the interval of the median relative to the median; absent where either is.
std::optional<double> relative_noise(std::span<const double> samples_s);
/// The same where the interval of these samples is known already.
std::optional<double> relative_noise(std::span<const double> samples_s, const std::optional<Interval>& interval);

/// Decides after every sample whether it was the last.
class StoppingRule {
 public:
  explicit StoppingRule(const StopCriteria& criteria) : criteria_(criteria) {}
  /// `timed_s` is the time inside samples, `elapsed_s` the wall time since the session began.
  std::optional<StopReason> after(std::span<const double> samples_s, double timed_s, double elapsed_s);

 private:
  std::optional<StopReason> when_quiet(std::span<const double> samples_s);
  [[nodiscard]] bool interval_in_reach(std::span<const double> samples_s, double timed_s, double elapsed_s) const;

  StopCriteria criteria_;
  std::int64_t next_interval_ = 0;
};

struct WarmUpCriteria {
  /// Two successive windows agree when their medians differ by no more than this, relative to the larger.
  double tolerance = 0.02;
  /// A window is at least so many samples and at least so much time: a clock ramp outlasts three short samples.
  std::int64_t window_samples = 3;
  double window_s = 0.01;
  double max_time_s = 1;
  std::int64_t max_samples = 100'000;
};

enum class WarmUpEnd { kSteady, kTimeCap, kSampleCap };

/// Decides after every warm-up sample whether the body has reached its steady state (BUG-142).
class WarmUpRule {
 public:
  explicit WarmUpRule(const WarmUpCriteria& criteria) : criteria_(criteria) {}
  /// `sample_s` is the time of one iteration, `timed_s` that of the whole sample, `elapsed_s` since the warm-up began.
  std::optional<WarmUpEnd> after(double sample_s, double timed_s, double elapsed_s);

 private:
  bool windows_agree();

  WarmUpCriteria criteria_;
  std::vector<double> window_;
  double window_timed_s_ = 0;
  std::optional<double> previous_median_s_;
  std::int64_t samples_ = 0;
};

/// Iterations of the next sample when one of `iterations` took `sample_s` and `target_s` is wanted: grows at least
/// twofold and at most tenfold, and tenfold when the timer saw nothing at all (BUG-214).
std::int64_t grow_iterations(std::int64_t iterations, double sample_s, double target_s);

} // namespace attnprof::profilers
