#include "profilers/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attnprof::profilers {
namespace {

constexpr double kNormal95 = 1.959964;

/// Half the width of the middle 95 %, as a standard deviation: resamples of heavy tails have wild extremes.
double middle_spread(const std::vector<double>& values) {
  return (*quantile(values, 0.975) - *quantile(values, 0.025)) / (2 * kNormal95);
}

struct LogMedian {
  double value = 0;
  double error = 0;
  double degrees = 1;
};

/// Logarithm of the median; the error from resamples in runs of neighbours, so that samples that move together count as
/// few. Absent below 5 samples and where the median is not positive.
std::optional<LogMedian> log_median(std::span<const double> samples, std::uint64_t seed) {
  const std::optional<double> center = median(samples);
  if (samples.size() < kMinIntervalSamples || !center || !(*center > 0)) {
    return std::nullopt;
  }
  const std::size_t block = bootstrap_block(samples.size());
  BootstrapOptions options;
  options.seed = seed;
  std::vector<double> logs = bootstrap_medians(samples, block, options);
  for (double& one : logs) {
    one = std::log(std::max(one, std::numeric_limits<double>::min()));
  }
  const double blocks = static_cast<double>(samples.size()) / static_cast<double>(block);
  return LogMedian{std::log(*center), middle_spread(logs), std::max(1.0, blocks - 1)};
}

/// Continued fraction of the incomplete beta function (Lentz; Press et al., Numerical Recipes, section 6.4).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMostTerms = 500;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double out = d;
  for (int term = 1; term <= kMostTerms; ++term) {
    const double m = term;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    out *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    const double factor = d * c;
    out *= factor;
    if (std::abs(factor - 1) < 1e-14) {
      break;
    }
  }
  return out;
}

double log_gamma(double x) {
  // Stirling's series after a shift, since std::lgamma writes a global.
  double shift = 0;
  for (; x < 10; x += 1) {
    shift -= std::log(x);
  }
  const double inverse = 1 / (x * x);
  return shift + (x - 0.5) * std::log(x) - x + 0.9189385332046727 +
         (1.0 / 12 - inverse * (1.0 / 360 - inverse * (1.0 / 1260 - inverse / 1680))) / x;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) {
    return x <= 0 ? 0 : 1;
  }
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/// Tail of (value / error); samples without any spread leave no doubt.
double tail_of(double value, const Effect& effect) {
  if (effect.standard_error > 0) {
    return student_tail(value / effect.standard_error, effect.degrees);
  }
  return value > 0 ? 0 : value < 0 ? 1 : 0.5;
}

} // namespace

std::optional<Effect> unpaired_effect(std::span<const double> before_s, std::span<const double> after_s) {
  const std::optional<LogMedian> before = log_median(before_s, 0x5eed);
  const std::optional<LogMedian> after = log_median(after_s, 0xfeed);
  if (!before || !after) {
    return std::nullopt;
  }
  const double a = before->error * before->error;
  const double b = after->error * after->error;
  const double weighed = a * a / before->degrees + b * b / after->degrees;
  return Effect{after->value - before->value, std::sqrt(a + b),
                weighed > 0 ? (a + b) * (a + b) / weighed : before->degrees + after->degrees};
}

std::optional<Effect> paired_effect(std::span<const double> before_s, std::span<const double> after_s) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < std::min(before_s.size(), after_s.size()); ++i) {
    if (before_s[i] > 0 && after_s[i] > 0) {
      logs.push_back(std::log(after_s[i] / before_s[i]));
    }
  }
  if (logs.size() < kMinIntervalSamples) {
    return std::nullopt;
  }
  return Effect{*median(logs), middle_spread(bootstrap_medians(logs, 1)), static_cast<double>(logs.size() - 1)};
}

double student_tail(double t, double degrees) {
  const double half = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
  return t >= 0 ? half : 1 - half;
}

double student_quantile(double tail, double degrees) {
  double low = -1e6;
  double high = 1e6;
  for (int step = 0; step < 200 && high - low > 1e-12 * std::max(1.0, std::abs(high)); ++step) {
    const double middle = std::midpoint(low, high);
    (student_tail(middle, degrees) > tail ? low : high) = middle;
  }
  return std::midpoint(low, high);
}

double difference_p(const Effect& effect) {
  return std::min(1.0, 2 * tail_of(std::abs(effect.log_ratio), effect));
}

double equivalence_p(const Effect& effect, double margin) {
  return std::max(tail_of(margin - effect.log_ratio, effect), tail_of(margin + effect.log_ratio, effect));
}

Interval interval_of(const Effect& effect, double confidence) {
  const double half = student_quantile((1 - confidence) / 2, effect.degrees) * effect.standard_error;
  return {effect.log_ratio - half, effect.log_ratio + half};
}

double detectable_log_ratio(const Effect& effect, double significance) {
  constexpr double kMissed = 0.2;
  return (student_quantile(significance / 2, effect.degrees) + student_quantile(kMissed, effect.degrees)) *
         effect.standard_error;
}

std::vector<double> holm_adjusted(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> out(p.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::max(largest, std::min(1.0, p[order[rank]] * static_cast<double>(p.size() - rank)));
    out[order[rank]] = largest;
  }
  return out;
}

std::optional<double> halves_log_ratio(std::span<const double> samples_s) {
  const std::size_t half = samples_s.size() / 2;
  if (half < kMinIntervalSamples) {
    return std::nullopt;
  }
  const double first = *median(samples_s.first(half));
  const double last = *median(samples_s.last(half));
  return first > 0 && last > 0 ? std::optional(std::log(last / first)) : std::nullopt;
}

std::optional<double> spread_about_zero(std::span<const double> log_ratios) {
  constexpr std::size_t kFewest = 3;
  if (log_ratios.size() < kFewest) {
    return std::nullopt;
  }
  std::vector<double> sizes;
  std::transform(log_ratios.begin(), log_ratios.end(), std::back_inserter(sizes),
                 [](double value) { return std::abs(value); });
  return kMadToSigma * *median(sizes);
}

double noise_floor(double spread) {
  return std::expm1(kNormal95 * spread);
}

} // namespace attnprof::profilers
