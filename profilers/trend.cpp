#include "profilers/trend.hpp"

#include "profilers/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace attnprof::profilers {

std::optional<TrendLimits> trend_limits(std::span<const double> earlier, const TrendOptions& options) {
  const std::size_t count = std::min(earlier.size(), options.window);
  std::vector<double> logs;
  for (const double value : earlier.last(count)) {
    if (value > 0) {
      logs.push_back(std::log(value));
    }
  }
  if (logs.size() < std::max(options.least, kMinSpreadSamples)) {
    return std::nullopt;
  }
  const double center = *median(logs);
  const double spread = std::max(kMadToSigma * *median_absolute_deviation(logs), options.least_spread);
  return TrendLimits{std::exp(center), std::exp(center - options.width * spread),
                     std::exp(center + options.width * spread), logs.size()};
}

std::string_view name_of(TrendVerdict verdict) {
  switch (verdict) {
  case TrendVerdict::kUsual: return "USUAL";
  case TrendVerdict::kWorse: return "WORSE";
  case TrendVerdict::kBetter: return "BETTER";
  case TrendVerdict::kTooFew: return "TOO FEW";
  }
  return {};
}

TrendVerdict trend_verdict(double latest, const std::optional<TrendLimits>& limits, bool larger_is_better) {
  if (!limits) {
    return TrendVerdict::kTooFew;
  }
  if (latest > limits->high) {
    return larger_is_better ? TrendVerdict::kBetter : TrendVerdict::kWorse;
  }
  if (latest < limits->low) {
    return larger_is_better ? TrendVerdict::kWorse : TrendVerdict::kBetter;
  }
  return TrendVerdict::kUsual;
}

} // namespace attnprof::profilers
