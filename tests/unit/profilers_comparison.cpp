#include "profilers/comparison.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <numeric>
#include <random>

using namespace attnprof::profilers;

namespace {

std::vector<double> spread_around(double center, std::size_t count) {
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(center * (1 + 0.01 * static_cast<double>((i * 7) % 11) - 0.05));
  }
  return out;
}

} // namespace

TEST_CASE("student: tails and quantiles of the printed tables") {
  // Table of the t distribution: 5 % and 0.5 % tails.
  CHECK(student_quantile(0.05, 1) == Catch::Approx(6.314).margin(5e-4));
  CHECK(student_quantile(0.05, 10) == Catch::Approx(1.812).margin(5e-4));
  CHECK(student_quantile(0.005, 10) == Catch::Approx(3.169).margin(5e-4));
  CHECK(student_quantile(0.025, 1e6) == Catch::Approx(1.95996).margin(1e-4));
  CHECK(student_tail(0, 7) == Catch::Approx(0.5));
  CHECK(student_tail(1, 1) == Catch::Approx(0.25)); // arctan
  CHECK(student_tail(-1, 1) == Catch::Approx(0.75));
  CHECK(student_tail(student_quantile(0.123, 4.5), 4.5) == Catch::Approx(0.123));
}

TEST_CASE("effects: log ratio of medians, with an error that shrinks with the samples") {
  const auto few = unpaired_effect(spread_around(1.0, 11), spread_around(1.1, 11));
  const auto many = unpaired_effect(spread_around(1.0, 440), spread_around(1.1, 440));
  REQUIRE(few);
  REQUIRE(many);
  CHECK(few->log_ratio == Catch::Approx(std::log(1.1)));
  CHECK(many->standard_error < few->standard_error);
  CHECK(many->degrees > few->degrees);
  CHECK(difference_p(*many) < 0.001);
  CHECK_FALSE(unpaired_effect(spread_around(1.0, 4), spread_around(1.1, 40)));
  CHECK_FALSE(unpaired_effect(std::vector<double>(10, 0.0), spread_around(1.1, 40)));
}

TEST_CASE("effects: pairs cancel what both sides share") {
  std::vector<double> base;
  std::vector<double> other;
  for (int i = 0; i < 12; ++i) {
    base.push_back(1.0 + 0.1 * ((i * 5) % 12)); // a machine whose speed changes twofold
    other.push_back(base.back() * (1.02 + 0.001 * (i % 3)));
  }
  const auto paired = paired_effect(base, other);
  const auto unpaired = unpaired_effect(base, other);
  REQUIRE(paired);
  REQUIRE(unpaired);
  CHECK(paired->log_ratio == Catch::Approx(std::log(1.021)).margin(0.001));
  CHECK(difference_p(*paired) < 0.01);
  CHECK(difference_p(*unpaired) > 0.3);
  CHECK_FALSE(paired_effect({{1.0, 2.0, 3.0, 4.0}}, {{1.0, 2.0, 3.0, 4.0}}));
}

TEST_CASE("tests: difference, equivalence and what would be found") {
  const Effect none{0.001, 0.01, 30};
  CHECK(difference_p(none) == Catch::Approx(2 * student_tail(0.1, 30)));
  CHECK(equivalence_p(none, 0.05) < 0.001);
  CHECK(equivalence_p(none, 0.01) > 0.05);            // the margin is no wider than the error
  CHECK(equivalence_p({0.06, 0.01, 30}, 0.05) > 0.5); // outside of it
  const Interval interval = interval_of(none);
  CHECK(interval.half_width() == Catch::Approx(student_quantile(0.025, 30) * 0.01));
  // 80 % power: the true effect lies that far beyond the critical value.
  const double detectable = detectable_log_ratio(none, 0.05);
  CHECK(student_tail(student_quantile(0.025, 30) - detectable / 0.01, 30) == Catch::Approx(0.8));
  const Effect exact{0.0, 0.0, 5};
  CHECK(difference_p(exact) == 1.0);
  CHECK(equivalence_p(exact, 0.05) == 0.0);
  CHECK(difference_p({0.1, 0.0, 5}) == 0.0);
}

TEST_CASE("holm: the worked example, order kept, never above 1") {
  // Smallest times 4, next times 3, ... and never below the one before.
  CHECK(holm_adjusted(std::vector<double>{0.01, 0.04, 0.03, 0.005}) == std::vector<double>{0.03, 0.06, 0.06, 0.02});
  CHECK(holm_adjusted(std::vector<double>{0.9, 0.8}) == std::vector<double>{1.0, 1.0});
  CHECK(holm_adjusted({}).empty());
}

TEST_CASE("self-test: halves of a run, and a floor that one wild pair does not lift") {
  std::vector<double> samples(20, 1.0);
  CHECK(*halves_log_ratio(samples) == 0.0);
  std::fill(samples.begin() + 10, samples.end(), 1.1);
  CHECK(*halves_log_ratio(samples) == Catch::Approx(std::log(1.1)));
  CHECK_FALSE(halves_log_ratio(std::vector<double>(9, 1.0)));
  CHECK(*spread_about_zero(std::vector<double>{0.01, -0.01, 0.01, -0.01, 3.0}) == Catch::Approx(0.014826));
  CHECK_FALSE(spread_about_zero(std::vector<double>{0.01, 0.02}));
  CHECK(noise_floor(0.1) == Catch::Approx(std::expm1(0.1959964)));
}
