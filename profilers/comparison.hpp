// Whether one set of times is longer than another: effects as logarithms of ratios, what chance does to them, and the
// tests that decide. Pure; what samples cannot say is absent.
#pragma once

#include "profilers/statistics.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace attnprof::profilers {

/// How much one side differs, and how well that is known.
struct Effect {
  double log_ratio = 0;      ///< log(after / before)
  double standard_error = 0; ///< of log_ratio, from a bootstrap
  double degrees = 1;        ///< of freedom of the standard error (Welch and Satterthwaite)
};

/// Effect between two runs: log ratio of the medians, its error from a circular block bootstrap of each run by itself.
/// Absent below 5 samples on a side and where a median is not positive.
std::optional<Effect> unpaired_effect(std::span<const double> before_s, std::span<const double> after_s);

/// Effect between times that were taken in turns: median of the log ratios of the pairs, its error from a bootstrap of
/// the pairs. Absent below 5 pairs with positive times.
std::optional<Effect> paired_effect(std::span<const double> before_s, std::span<const double> after_s);

/// Probability that a Student variable of so many degrees of freedom exceeds `t`.
double student_tail(double t, double degrees);
/// The value that a Student variable exceeds with this probability, which lies in (0, 1).
double student_quantile(double tail, double degrees);

/// Chance of an effect at least as large where there is none (two-sided).
double difference_p(const Effect& effect);
/// Two one-sided tests (Schuirmann 1987): chance of an effect this small where the true one is at least `margin` either
/// way. `margin` is that of the log ratio, positive.
double equivalence_p(const Effect& effect, double margin);
/// Two-sided interval of the log ratio.
Interval interval_of(const Effect& effect, double confidence = 0.95);
/// The least log ratio that a test at `significance` (two-sided) finds with 80 % power.
double detectable_log_ratio(const Effect& effect, double significance);

/// Holm's step-down adjustment (1979): rejecting where the adjusted p is at most alpha keeps the chance of even one
/// false alarm among all tests at alpha. Same order as `p`.
std::vector<double> holm_adjusted(std::span<const double> p);

/// A/A self-test of one run: log ratio of the medians of its two halves. Absent below 10 samples.
std::optional<double> halves_log_ratio(std::span<const double> samples_s);

/// Spread of log ratios that ought to be 0, robust to a few wild ones: 1.4826 * median |x|. Absent below 3 of them.
std::optional<double> spread_about_zero(std::span<const double> log_ratios);

/// The least relative change that stands out of noise with this spread of log ratios, at 95 %.
double noise_floor(double spread);

} // namespace attnprof::profilers
