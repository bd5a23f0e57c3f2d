#include "profilers/clock.hpp"
#include "profilers/statistics.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_clock.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace attnprof::profilers;
using Samples = std::vector<double>;

namespace {

Samples uniform_samples(std::size_t count, double center, double spread, unsigned seed) {
  std::mt19937_64 generator(seed);
  Samples samples(count);
  for (double& sample : samples)
    sample = center + spread * (static_cast<double>(generator() >> 11U) / 9007199254740992.0 - 0.5);
  return samples;
}

// Each sample follows its predecessor by `memory`: neighbours are nearly copies of each other.
Samples correlated_samples(std::size_t count, double center, double spread, double memory, unsigned seed) {
  Samples samples = uniform_samples(count, 0, spread, seed);
  for (std::size_t i = 1; i < count; ++i)
    samples[i] += memory * samples[i - 1];
  for (double& sample : samples)
    sample += center;
  return samples;
}

} // namespace

TEST_CASE("bootstrap medians are those of resamples that are written out and sorted") {
  for (const std::size_t count : {1, 2, 5, 10, 33, 700}) {
    for (const bool ties : {false, true}) {
      Samples samples = uniform_samples(count, 5, 4, static_cast<unsigned>(count));
      for (double& sample : samples)
        sample = ties ? std::round(sample) : sample;
      for (const std::size_t block : {std::size_t{1}, bootstrap_block(count), count}) {
        const BootstrapOptions options;
        std::mt19937_64 generator(options.seed);
        const Samples found = bootstrap_medians(samples, block, options);
        REQUIRE(found.size() >= 100);
        for (const double one : found) {
          Samples resample;
          while (resample.size() < count) {
            const std::size_t start = draw_below(generator, count);
            for (std::size_t i = 0; i < block && resample.size() < count; ++i)
              resample.push_back(samples[(start + i) % count]);
          }
          REQUIRE(one == *median(resample));
        }
      }
    }
  }
}

TEST_CASE("median and quantile of small sets") {
  CHECK_FALSE(median(Samples{}));
  CHECK(*median(Samples{3}) == 3);
  CHECK(*median(Samples{5, 1, 3}) == 3);
  CHECK(*median(Samples{4, 1, 3, 2}) == 2.5);
  CHECK_FALSE(quantile(Samples{}, 0.5));
  CHECK_FALSE(quantile(Samples{1, 2}, 1.5));
  CHECK_FALSE(quantile(Samples{1, 2}, std::nan("")));
  CHECK(*quantile(Samples{40, 10, 30, 20}, 0.0) == 10);
  CHECK(*quantile(Samples{40, 10, 30, 20}, 1.0) == 40);
  CHECK(*quantile(Samples{40, 10, 30, 20}, 0.25) == Catch::Approx(17.5));
  CHECK_FALSE(mean(Samples{}));
}

TEST_CASE("the median ignores a first iteration that is 98 % of the total (BUG-150)") {
  Samples samples{27000};
  samples.insert(samples.end(), 9, 1.0);
  CHECK(*median(samples) == 1);
  CHECK(*mean(samples) == Catch::Approx(2700.9));
  CHECK(*outliers(samples) == std::vector<std::size_t>{0});
  const auto interval = bootstrap_median_interval(samples);
  REQUIRE(interval);
  CHECK(interval->low == 1);
}

TEST_CASE("statistics that need more samples are absent (BUG-176, BUG-207)") {
  for (std::size_t count = 1; count <= 4; ++count) {
    const Samples samples(count, 2.0);
    CHECK(*median(samples) == 2);
    CHECK_FALSE(bootstrap_median_interval(samples));
    CHECK_FALSE(modified_z_scores(samples));
    CHECK_FALSE(drift_by_quarters(samples));
    CHECK(median_absolute_deviation(samples).has_value() == (count >= 2));
  }
}

TEST_CASE("median absolute deviation") {
  CHECK(*median_absolute_deviation(Samples{1, 1, 2, 2, 4, 6, 9}) == 1);
  CHECK(*median_absolute_deviation(Samples{7, 7, 7}) == 0);
}

TEST_CASE("outliers: a floor under the MAD, none on three runs (BUG-155)") {
  Samples constant(9, 10.0);
  constant.push_back(30);
  CHECK(*outliers(constant) == std::vector<std::size_t>{9});
  const Samples scores = modified_z_scores(constant).value();
  CHECK(std::all_of(scores.begin(), scores.end(), [](double score) { return std::isfinite(score); }));

  const Samples three{715.2, 709.9, 719.7};
  CHECK_FALSE(outliers(three));
  const double largest = 0.6745 * (three[1] - *median(three)) / *median_absolute_deviation(three);
  CHECK(std::abs(largest) == Catch::Approx(0.79).margin(0.005));

  CHECK(outliers(Samples(20, 5.0))->empty());
  CHECK(outliers(Samples(20, 0.0))->empty());
}

TEST_CASE("the interval of the median") {
  const Samples samples = uniform_samples(200, 10, 2, 1);
  const auto interval = bootstrap_median_interval(samples);
  REQUIRE(interval);
  const double center = *median(samples);
  CHECK(interval->low <= center);
  CHECK(interval->high >= center);
  CHECK(interval->low < interval->high);
  CHECK(interval->half_width() < 0.5);

  SECTION("is the same for the same seed and narrower with more samples") {
    const auto again = bootstrap_median_interval(samples);
    CHECK(again->low == interval->low);
    CHECK(again->high == interval->high);
    CHECK(bootstrap_median_interval(uniform_samples(3200, 10, 2, 1))->half_width() < interval->half_width() / 2);
  }
  SECTION("is a point for equal samples") {
    const auto point = bootstrap_median_interval(Samples(10, 3.0));
    CHECK(point->low == 3);
    CHECK(point->high == 3);
  }
  SECTION("holds the median of every shape") {
    for (unsigned seed = 0; seed < 50; ++seed) {
      Samples skewed = uniform_samples(5 + seed, 1, 1, seed);
      for (double& sample : skewed)
        sample = std::pow(sample, 8);
      const auto found = bootstrap_median_interval(skewed);
      CHECK(found->low <= *median(skewed));
      CHECK(found->high >= *median(skewed));
      CHECK(found->low >= *std::min_element(skewed.begin(), skewed.end()));
      CHECK(found->high <= *std::max_element(skewed.begin(), skewed.end()));
    }
  }
}

TEST_CASE("samples that move together do not fake precision") {
  // Shuffled, the same samples carry no memory: the interval of the ordered ones has to be wider.
  double ordered = 0;
  double shuffled = 0;
  int held = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    Samples samples = correlated_samples(400, 10, 1, 0.9, seed);
    const auto interval = *bootstrap_median_interval(samples);
    ordered += interval.half_width();
    held += interval.low <= 10 && interval.high >= 10;
    std::mt19937_64 generator(seed);
    for (std::size_t i = samples.size() - 1; i > 0; --i)
      std::swap(samples[i], samples[generator() % (i + 1)]);
    shuffled += bootstrap_median_interval(samples)->half_width();
  }
  CHECK(ordered > 2 * shuffled);
  CHECK(held >= 40); // nominally 47; a bootstrap of single samples holds about 18
}

TEST_CASE("drift by quarters (BUG-152)") {
  Samples rates;
  for (const double rate : {1425.0, 1450.0, 1373.0, 1237.0})
    rates.insert(rates.end(), 5, rate);
  const auto drift = drift_of_rates(rates);
  REQUIRE(drift);
  CHECK(drift->best_to_last == Catch::Approx(-0.1469).margin(1e-4));
  CHECK(drift->first_to_last == Catch::Approx(1237.0 / 1425.0 - 1));
  CHECK(drift->significant);

  Samples times;
  for (const double rate : rates)
    times.push_back(1 / rate);
  CHECK(drift_by_quarters(times)->best_to_last == Catch::Approx(drift->best_to_last));
}

TEST_CASE("drift: steady, warming and scattered series") {
  CHECK(drift_by_quarters(Samples(12, 1.0))->best_to_last == 0);
  CHECK_FALSE(drift_by_quarters(Samples(12, 1.0))->significant);
  CHECK_FALSE(drift_by_quarters(Samples(12, 0.0)));

  const auto warming = *drift_by_quarters(Samples{2, 2, 1.5, 1.5, 1, 1, 1, 1});
  CHECK(warming.best_to_last == 0);
  CHECK(warming.first_to_last == Catch::Approx(1.0));
  CHECK(warming.significant);

  int significant = 0;
  for (unsigned seed = 0; seed < 40; ++seed)
    significant += drift_by_quarters(uniform_samples(40, 10, 10, seed))->significant;
  CHECK(significant <= 4);
}

TEST_CASE("the timer probe finds step and cost of a clock") {
  attnprof::tests::FakeClock fine(25);
  const auto quality = probe_timer(fine);
  CHECK(*quality.resolution_s == Catch::Approx(25e-9));
  CHECK(*quality.overhead_s == Catch::Approx(25e-9));

  attnprof::tests::FakeClock coarse(10, 1000);
  const auto ticks = probe_timer(coarse);
  CHECK(*ticks.resolution_s == Catch::Approx(1000e-9));
  CHECK(*ticks.overhead_s == Catch::Approx(10e-9).epsilon(0.02));

  attnprof::tests::FakeClock stopped(0);
  const auto nothing = probe_timer(stopped, 1000);
  CHECK_FALSE(nothing.resolution_s);
  CHECK_FALSE(nothing.overhead_s);

  SteadyClock real;
  CHECK(*probe_timer(real).resolution_s > 0);
}
