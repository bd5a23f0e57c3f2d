// Whether a set of samples can be trusted, and if not, why.
#pragma once

#include "profilers/statistics.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attnprof::profilers {

/// What happened while one sample ran; absent where the host does not tell.
struct SampleConditions {
  std::optional<double> steal_s;
  std::optional<std::int64_t> page_faults;
  std::optional<std::int64_t> context_switches;
  /// Clock of this core right before the sample.
  std::optional<double> cpu_clock_hz;
  /// Independent operations a cycle of the core that starts the work, right before or after the sample, whichever is
  /// less; absent where a device does the work.
  std::optional<double> issue_rate;
};

enum class Stability { kStable, kNoisy, kDrift, kThrottled, kTooShort };
/// STABLE, NOISY, DRIFT, THROTTLED or TOO_SHORT.
std::string_view name_of(Stability stability);

/// Absent stability: too few samples for a verdict. The sentence names the evidence in each case.
struct Verdict {
  std::optional<Stability> stability;
  std::string reason;
};

struct VerdictOptions {
  /// Relative half-width of the interval beyond which samples are noisy.
  double max_noise = 0.02;
  /// Change of speed between quarters beyond which a run drifts (BUG-152).
  double max_drift = 0.05;
  /// Time of a whole sample below which the timer's step matters; absent when the timer does not move at all.
  std::optional<double> least_sample_s;
  /// Of the median of the samples, where it is known already; drawing it takes longer than everything else here.
  std::optional<Interval> interval;
};

/// A sentence where some samples shared their core with another hardware thread.
std::optional<std::string> shared_core_warning(std::span<const SampleConditions> conditions);

/// Judges times per iteration; `conditions` are those of the same samples, in the same order.
Verdict judge(std::span<const double> samples_s, std::span<const SampleConditions> conditions,
              std::int64_t iterations_per_sample, const VerdictOptions& options);

} // namespace attnprof::profilers
