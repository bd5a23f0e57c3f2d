// Statistics of timing samples: pure functions; what a set of samples cannot say is absent, never 0 or NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace attnprof::profilers {

/// Below these counts the statistic is absent (BUG-155, BUG-176, BUG-207).
inline constexpr std::size_t kMinSpreadSamples = 2;
inline constexpr std::size_t kMinIntervalSamples = 5;
inline constexpr std::size_t kMinOutlierSamples = 8;
inline constexpr std::size_t kMinDriftSamples = 8;

/// A sample is an outlier when its modified z exceeds this (Iglewicz and Hoaglin 1993).
inline constexpr double kOutlierThreshold = 3.5;

/// The middle sample, or the mean of the two middle ones; absent without samples.
std::optional<double> median(std::span<const double> samples);

/// Linear interpolation between order statistics (Hyndman and Fan type 7), `q` in [0, 1]; absent without samples.
std::optional<double> quantile(std::span<const double> samples, double q);

std::optional<double> mean(std::span<const double> samples);

/// A median absolute deviation times this is the standard deviation of normally distributed samples.
inline constexpr double kMadToSigma = 1.4826;

/// Median absolute deviation from the median, unscaled; absent below 2 samples.
std::optional<double> median_absolute_deviation(std::span<const double> samples);

struct Interval {
  double low = 0;
  double high = 0;
  double half_width() const { return (high - low) / 2; }
};

struct BootstrapOptions {
  double confidence = 0.95;
  /// At most; fewer from 500 samples on.
  int resamples = 500;
  std::uint64_t seed = 0x5eed;
};

/// A draw below `bound` that is the same on every system, which the standard distributions are not.
std::size_t draw_below(std::mt19937_64& generator, std::size_t bound);

/// Medians of resamples that are drawn in runs of `block` neighbours, circularly; a block of 1 draws single samples.
/// Many samples get fewer resamples: their medians scatter little, and the cost grows with the product.
std::vector<double> bootstrap_medians(std::span<const double> samples, std::size_t block,
                                      const BootstrapOptions& options = {});
/// ceil(sqrt(n)): neighbours that are drawn together, so that samples that move together count as few.
std::size_t bootstrap_block(std::size_t samples);

/// Confidence interval of the median: circular block bootstrap (Politis and Romano 1992), percentile form.
/// Samples are drawn in runs of ceil(sqrt(n)) neighbours, so that samples that move together count as few, not as
/// many. Medians of whole resamples are taken rather than of block means, which a single spike would shift.
/// The interval always holds the sample median and lies within the samples; absent below 5 samples.
std::optional<Interval> bootstrap_median_interval(std::span<const double> samples,
                                                  const BootstrapOptions& options = {});

/// 0.6745 (x - median) / MAD for each sample, with the MAD floored at 0.1 % of the median so that equal samples do not
/// divide by zero; absent below 8 samples.
std::optional<std::vector<double>> modified_z_scores(std::span<const double> samples);

/// Positions of the samples whose |modified z| exceeds 3.5, ascending; absent below 8 samples.
std::optional<std::vector<std::size_t>> outliers(std::span<const double> samples);

/// How the speed moved over the run, from the medians of its four quarters.
struct Drift {
  /// Last quarter's speed relative to the best quarter's, minus 1: never positive, -0.147 when 14.7 % were lost.
  double best_to_last = 0;
  /// Last quarter's speed relative to the first quarter's, minus 1: positive when the run got faster.
  double first_to_last = 0;
  /// False when quarters of such scattered samples differ as much by chance.
  bool significant = false;
};

/// Drift of a series of times (speed is 1 / time); absent below 8 samples or when a quarter's median is not positive.
std::optional<Drift> drift_by_quarters(std::span<const double> times_s);

/// Drift of a series of rates, such as a clock frequency; absent as for times.
std::optional<Drift> drift_of_rates(std::span<const double> rates);

} // namespace attnprof::profilers
