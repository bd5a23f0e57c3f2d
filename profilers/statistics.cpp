#include "profilers/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

namespace attnprof::profilers {
namespace {

// Turns the standard deviation of a mean into that of a median, for normal samples.
constexpr double kMeanToMedian = 1.2533;

double median_in_place(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1)
    return *middle;
  const double upper = *middle;
  return (*std::max_element(values.begin(), middle) + upper) / 2;
}

std::vector<double> copy_of(std::span<const double> samples) {
  return {samples.begin(), samples.end()};
}

std::vector<double> absolute_deviations(std::span<const double> samples, double center) {
  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (const double sample : samples)
    deviations.push_back(std::abs(sample - center));
  return deviations;
}

std::array<std::span<const double>, 4> quarters_of(std::span<const double> samples) {
  std::array<std::span<const double>, 4> quarters;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t begin = samples.size() * i / 4;
    quarters[i] = samples.subspan(begin, samples.size() * (i + 1) / 4 - begin);
  }
  return quarters;
}

std::optional<Drift> drift(std::span<const double> samples, bool samples_are_times) {
  if (samples.size() < kMinDriftSamples)
    return std::nullopt;
  std::array<double, 4> speed{};
  double relative_error = 0;
  for (std::size_t i = 0; const auto& quarter : quarters_of(samples)) {
    std::vector<double> values = copy_of(quarter);
    const double center = median_in_place(values);
    if (!(center > 0))
      return std::nullopt;
    speed[i++] = samples_are_times ? 1 / center : center;
    const double sigma = kMadToSigma * median_absolute_deviation(quarter).value_or(0);
    relative_error =
        std::max(relative_error, kMeanToMedian * sigma / (center * std::sqrt(static_cast<double>(quarter.size()))));
  }
  Drift result;
  result.best_to_last = speed[3] / *std::max_element(speed.begin(), speed.end()) - 1;
  result.first_to_last = speed[3] / speed[0] - 1;
  const double change = std::max(std::abs(result.best_to_last), std::abs(result.first_to_last));
  result.significant = change > 3 * std::sqrt(2.0) * relative_error;
  return result;
}

} // namespace

std::optional<double> median(std::span<const double> samples) {
  if (samples.empty())
    return std::nullopt;
  std::vector<double> values = copy_of(samples);
  return median_in_place(values);
}

std::optional<double> quantile(std::span<const double> samples, double q) {
  if (samples.empty() || !(q >= 0 && q <= 1))
    return std::nullopt;
  std::vector<double> values = copy_of(samples);
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], position - static_cast<double>(below));
}

std::optional<double> mean(std::span<const double> samples) {
  if (samples.empty())
    return std::nullopt;
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

std::optional<double> median_absolute_deviation(std::span<const double> samples) {
  if (samples.size() < kMinSpreadSamples)
    return std::nullopt;
  std::vector<double> deviations = absolute_deviations(samples, *median(samples));
  return median_in_place(deviations);
}

std::size_t draw_below(std::mt19937_64& generator, std::size_t bound) {
  return static_cast<std::size_t>(((generator() >> 32U) * static_cast<std::uint64_t>(bound)) >> 32U);
}

std::size_t bootstrap_block(std::size_t samples) {
  return static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(samples))));
}

namespace {

/// Samples in ascending order, and the place of each there, twice over: a run of neighbours that goes past the last
/// sample goes on with the first.
struct Ranking {
  explicit Ranking(std::span<const double> samples) : sorted(copy_of(samples)), places(2 * samples.size()) {
    const std::size_t count = samples.size();
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return samples[a] < samples[b]; });
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t place = 0; place < count; ++place)
      places[order[place]] = places[order[place] + count] = place;
  }

  /// Of a resample of as many values, `copies` of each of the sorted ones.
  double median_of(std::span<const std::uint32_t> copies) const {
    const std::size_t middle = sorted.size() / 2;
    std::size_t at = 0;
    std::size_t below = 0;
    for (; below + copies[at] <= middle; ++at)
      below += copies[at];
    if (sorted.size() % 2 == 1 || below < middle)
      return sorted[at];
    std::size_t lower = at - 1;
    while (copies[lower] == 0)
      --lower;
    return (sorted[lower] + sorted[at]) / 2;
  }

  std::vector<double> sorted;
  std::vector<std::size_t> places;
};

} // namespace

std::vector<double> bootstrap_medians(std::span<const double> samples, std::size_t block,
                                      const BootstrapOptions& options) {
  const std::size_t count = samples.size();
  constexpr std::size_t kDraws = 250'000;
  constexpr std::size_t kLeastResamples = 100;
  const auto most = static_cast<std::size_t>(std::max(options.resamples, 0));
  const std::size_t rounds = count == 0 ? 0 : std::min(most, std::max(kLeastResamples, kDraws / count));
  std::mt19937_64 generator(options.seed);
  std::vector<double> medians;
  medians.reserve(rounds);
  // A resample holds known values again: counting its copies of each takes a fifth of the time of ordering it.
  const Ranking ranking(samples);
  std::vector<std::uint32_t> copies(count);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::fill(copies.begin(), copies.end(), 0U);
    for (std::size_t filled = 0; filled < count;) {
      const std::size_t start = draw_below(generator, count);
      const std::size_t taken = std::min(block, count - filled);
      for (std::size_t i = start; i < start + taken; ++i)
        ++copies[ranking.places[i]];
      filled += taken;
    }
    medians.push_back(ranking.median_of(copies));
  }
  return medians;
}

std::optional<Interval> bootstrap_median_interval(std::span<const double> samples, const BootstrapOptions& options) {
  if (samples.size() < kMinIntervalSamples || options.resamples < 1)
    return std::nullopt;
  const std::vector<double> medians = bootstrap_medians(samples, bootstrap_block(samples.size()), options);
  const double center = *median(samples);
  const double tail = (1 - options.confidence) / 2;
  return Interval{std::min(*quantile(medians, tail), center), std::max(*quantile(medians, 1 - tail), center)};
}

std::optional<std::vector<double>> modified_z_scores(std::span<const double> samples) {
  if (samples.size() < kMinOutlierSamples)
    return std::nullopt;
  constexpr double kRelativeFloor = 1e-3;
  const double center = *median(samples);
  const double scale = std::max(*median_absolute_deviation(samples), kRelativeFloor * std::abs(center));
  std::vector<double> scores;
  scores.reserve(samples.size());
  for (const double sample : samples)
    scores.push_back(scale > 0 ? 0.6745 * (sample - center) / scale : 0.0);
  return scores;
}

std::optional<std::vector<std::size_t>> outliers(std::span<const double> samples) {
  const auto scores = modified_z_scores(samples);
  if (!scores)
    return std::nullopt;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < scores->size(); ++i)
    if (std::abs((*scores)[i]) > kOutlierThreshold)
      positions.push_back(i);
  return positions;
}

std::optional<Drift> drift_by_quarters(std::span<const double> times_s) {
  return drift(times_s, true);
}

std::optional<Drift> drift_of_rates(std::span<const double> rates) {
  return drift(rates, false);
}

} // namespace attnprof::profilers
