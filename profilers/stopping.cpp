#include "profilers/stopping.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attnprof::profilers {

std::string_view name_of(StopReason reason) {
  switch (reason) {
  case StopReason::kNoiseReached: return "noise_reached";
  case StopReason::kMinTime: return "min_time";
  case StopReason::kRepetitions: return "repetitions";
  case StopReason::kTimeout: return "timeout";
  case StopReason::kSampleCap: return "sample_cap";
  case StopReason::kInterrupted: return "interrupted";
  }
  return "";
}

std::optional<double> relative_noise(std::span<const double> samples_s) {
  return relative_noise(samples_s, bootstrap_median_interval(samples_s));
}

std::optional<double> relative_noise(std::span<const double> samples_s, const std::optional<Interval>& interval) {
  const auto center = median(samples_s);
  if (!interval || !center || !(*center > 0))
    return std::nullopt;
  return interval->half_width() / *center;
}

std::optional<StopReason> StoppingRule::after(std::span<const double> samples_s, double timed_s, double elapsed_s) {
  const auto count = static_cast<std::int64_t>(samples_s.size());
  if (criteria_.repetitions && count >= *criteria_.repetitions)
    return StopReason::kRepetitions;
  if (!criteria_.repetitions && count >= criteria_.min_samples && timed_s >= criteria_.min_time_s)
    if (const auto reason = when_quiet(samples_s))
      return reason;
  if (elapsed_s >= criteria_.timeout_s && !interval_in_reach(samples_s, timed_s, elapsed_s))
    return StopReason::kTimeout;
  if (count >= criteria_.max_samples)
    return StopReason::kSampleCap;
  return std::nullopt;
}

bool StoppingRule::interval_in_reach(std::span<const double> samples_s, double timed_s, double elapsed_s) const {
  constexpr double kPatience = 3;
  constexpr double kShort = 0.2; // of the timeout: the missing samples if nothing held them up
  const bool wanted = !criteria_.repetitions && criteria_.min_samples >= static_cast<std::int64_t>(kMinIntervalSamples);
  if (!wanted || samples_s.empty() || samples_s.size() >= kMinIntervalSamples ||
      elapsed_s >= kPatience * criteria_.timeout_s)
    return false;
  const double sum_s = std::accumulate(samples_s.begin(), samples_s.end(), 0.0);
  const double fastest = *std::min_element(samples_s.begin(), samples_s.end()) / sum_s;
  return static_cast<double>(kMinIntervalSamples - samples_s.size()) * fastest * timed_s < kShort * criteria_.timeout_s;
}

std::optional<StopReason> StoppingRule::when_quiet(std::span<const double> samples_s) {
  if (!criteria_.max_noise)
    return StopReason::kMinTime;
  const auto count = static_cast<std::int64_t>(samples_s.size());
  if (count < next_interval_)
    return std::nullopt;
  // The interval costs as much as hundreds of samples: it is drawn again only when a quarter more of them are there.
  next_interval_ = count + std::max<std::int64_t>(1, count / 4);
  const auto noise = relative_noise(samples_s);
  if (noise && *noise <= *criteria_.max_noise)
    return StopReason::kNoiseReached;
  return std::nullopt;
}

std::optional<WarmUpEnd> WarmUpRule::after(double sample_s, double timed_s, double elapsed_s) {
  ++samples_;
  window_.push_back(sample_s);
  window_timed_s_ += timed_s;
  const bool full =
      static_cast<std::int64_t>(window_.size()) >= criteria_.window_samples && window_timed_s_ >= criteria_.window_s;
  if (full && windows_agree())
    return WarmUpEnd::kSteady;
  if (elapsed_s >= criteria_.max_time_s)
    return WarmUpEnd::kTimeCap;
  if (samples_ >= criteria_.max_samples)
    return WarmUpEnd::kSampleCap;
  return std::nullopt;
}

bool WarmUpRule::windows_agree() {
  const double current = *median(window_);
  const bool agree = previous_median_s_ && std::abs(current - *previous_median_s_) <=
                                               criteria_.tolerance * std::max(current, *previous_median_s_);
  previous_median_s_ = current;
  window_.clear();
  window_timed_s_ = 0;
  return agree;
}

std::int64_t grow_iterations(std::int64_t iterations, double sample_s, double target_s) {
  // A tenth above the target, so that the next sample does not miss it by its noise.
  const double factor = sample_s > 0 ? std::clamp(1.1 * target_s / sample_s, 2.0, 10.0) : 10.0;
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(iterations) * factor));
}

} // namespace attnprof::profilers
