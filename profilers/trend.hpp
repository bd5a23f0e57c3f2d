// Whether the newest of a series of runs stands out of those before it. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace attnprof::profilers {

struct TrendOptions {
  std::size_t window = 20;    ///< latest earlier runs that count
  std::size_t least = 5;      ///< with fewer there is no limit
  double width = 3.0;         ///< limits in standard deviations of the log ratios
  double least_spread = 0.01; ///< runs that agree by luck do not make a limit of nothing
};

/// What is usual, from the rolling distribution of earlier runs.
struct TrendLimits {
  double center = 0; ///< median
  double low = 0;
  double high = 0;
  std::size_t runs = 0; ///< that it is made of
};

/// Median of the window, times and divided by exp(width * spread) with the spread of the logarithms, 1.4826 * MAD, so
/// that a few bad runs do not widen it. Absent with too few positive values.
std::optional<TrendLimits> trend_limits(std::span<const double> earlier, const TrendOptions& options = {});

enum class TrendVerdict {
  kUsual,  ///< within the limits
  kWorse,  ///< beyond the limit on the bad side
  kBetter, ///< beyond the other
  kTooFew, ///< no limits yet
};
std::string_view name_of(TrendVerdict verdict);
TrendVerdict trend_verdict(double latest, const std::optional<TrendLimits>& limits, bool larger_is_better);

} // namespace attnprof::profilers
