#include "reports/derive.hpp"
#include "reports/findings.hpp"
#include "reports/ranking.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reports_records.hpp"

using namespace attnprof;
using namespace attnprof::reports;
using Catch::Matchers::Contains;

namespace {

using Points = std::vector<std::pair<double, double>>;

/// A steady case of so many FLOPs and so much time, judged by round roofs.
profilers::Record steady(const std::string& variant, std::int64_t macs, double time_s) {
  profilers::Record record = tests::measured_record(variant);
  record.totals->work = {macs, macs, 0, 0};
  record.measured->stability = profilers::Stability::kStable;
  record.measured->time_median_s = time_s;
  record.measured->time_ci_low_s = time_s * 0.99;
  record.measured->time_ci_high_s = time_s * 1.01;
  return record;
}

/// Launches instead of the usual three, with their times.
void set_launches(profilers::Record& record, std::vector<std::pair<operators::LaunchCost, double>> launches) {
  record.launches.clear();
  for (auto& [cost, time_s] : launches) {
    record.launches.push_back({std::move(cost), "own", time_s});
  }
  tests::add_totals(record);
  derive(record, tests::round_roofs());
}

} // namespace

TEST_CASE("the front holds what nothing with as much work outruns") {
  CHECK(pareto_front({}).empty());
  CHECK(pareto_front({{1, 1}}) == std::vector<std::size_t>{0});
  // (2, 5) is outrun by (3, 6), (1, 9) is the fastest, (4, 2) does the most.
  CHECK(pareto_front({{2, 5}, {3, 6}, {1, 9}, {4, 2}}) == std::vector<std::size_t>{2, 1, 3});
  // Equal work: the faster one. Equal points: the first.
  CHECK(pareto_front({{1, 2}, {1, 3}, {1, 3}}) == std::vector<std::size_t>{1});
  // Equal speed: the one with more work.
  CHECK(pareto_front({{1, 3}, {2, 3}}) == std::vector<std::size_t>{1});
}

TEST_CASE("rank correlation: order alone counts, ties share their rank, too little says nothing") {
  CHECK(*rank_correlation({{1, 10}, {2, 11}, {3, 1000}}) == Approx(1.0));
  CHECK(*rank_correlation({{1, 3}, {2, 2}, {3, 1}}) == Approx(-1.0));
  // By hand: ranks of y are 0, 2, 1, 3; d = 0, 1, 1, 0; 1 - 6 * 2 / (4 * 15) = 0.8.
  CHECK(*rank_correlation({{1, 1}, {2, 3}, {3, 2}, {4, 4}}) == Approx(0.8));
  // A tie in x: ranks 0.5, 0.5, 2 against 0, 1, 2: covariance 1.5, variances 1.5 and 2.
  CHECK(*rank_correlation({{1, 1}, {1, 2}, {2, 3}}) == Approx(1.5 / std::sqrt(1.5 * 2.0)));
  CHECK_FALSE(rank_correlation({{1, 1}, {2, 2}}));
  CHECK_FALSE(rank_correlation(Points(5, {1.0, 2.0})));
}

TEST_CASE("contradictions: fewer FLOPs and more time, the clearest first, no more than are kept") {
  const std::vector<profilers::Record> records = {steady("a", 1'000'000, 3e-3), steady("b", 2'000'000, 2e-3),
                                                  steady("c", 4'000'000, 1e-3)};
  const FlopsAgainstTime found = flops_against_time(records);
  CHECK(found.pairs == 3);
  CHECK(found.agreeing == 0);
  REQUIRE(found.contradictions.size() == 3);
  CHECK(found.contradictions[0] == std::pair<std::size_t, std::size_t>(0, 2)); // 4 x 3, against 2 x 1.5 and 2 x 2
  CHECK(found.contradictions[1] == std::pair<std::size_t, std::size_t>(1, 2));
  std::vector<profilers::Record> many;
  for (int i = 0; i < 20; ++i) {
    many.push_back(steady("v" + std::to_string(i), 1'000'000 * (i + 1), 1e-3 * (20 - i)));
  }
  const FlopsAgainstTime most = flops_against_time(many);
  CHECK(most.pairs == 190);
  REQUIRE(most.contradictions.size() == kMostContradictions);
  CHECK(most.contradictions[0] == std::pair<std::size_t, std::size_t>(0, 19));
}

TEST_CASE("time is taken apart into products, bytes, launches and arithmetic, and adds up") {
  profilers::Record record = tests::measured_record();
  derive(record, tests::round_roofs());
  record.launch_roofs[0].bound = "compute";
  record.launch_roofs[1].bound = "transcendental";
  record.launch_roofs[2].bound = "memory";
  TimeParts parts = *time_parts(record);
  CHECK(parts.products_s == Approx(20e-6));
  CHECK(parts.arithmetic_s == Approx(10e-6));
  CHECK(parts.bytes_s == Approx(100e-6));
  CHECK(parts.launches_s == 0.0);
  record.launch_roofs[0].bound = "overhead";
  record.launch_roofs[2].bound = "unexplained"; // a copy without a roof is no product
  parts = *time_parts(record);
  CHECK(parts.launches_s == Approx(20e-6));
  CHECK(parts.products_s == 0.0);
  CHECK(parts.arithmetic_s == Approx(110e-6));
  record.launches[1].time_median_s.reset();
  CHECK_FALSE(time_parts(record));
  CHECK_FALSE(time_parts(tests::counted_record()));
}

TEST_CASE("a contradiction is explained by what its time is spent on") {
  // 64 kB products of 1 MMAC at 100 GFLOP/s take 20 us; copies of 2 MB at 20 GB/s take 100 us.
  const auto product = [](std::int64_t macs) {
    return tests::launch_cost("mixer/scores", "matmul", macs, 0, 0, 6'000, 4'000, 10'000);
  };
  const auto copy = tests::launch_cost("mixer/merge", "copy", 0, 0, 0, 1'000'000, 1'000'000, 2'000'000);
  profilers::Record bytes = steady("bytes", 1, 200e-6);
  set_launches(bytes, {{product(1'000'000), 25e-6}, {copy, 120e-6}});
  profilers::Record lean = steady("lean", 1, 60e-6);
  set_launches(lean, {{product(2'000'000), 50e-6}});
  profilers::Record small = steady("small", 1, 100e-6);
  set_launches(small, {{product(300'000), 30e-6}, {product(300'000), 30e-6}, {product(300'000), 30e-6}});
  const std::vector<profilers::Record> records = {bytes, lean, small};

  const Contradiction by_bytes = explain(records, 0, 1);
  CHECK(by_bytes.flops_ratio == Approx(0.5));
  CHECK(by_bytes.time_ratio == Approx(200.0 / 60.0));
  CHECK(*by_bytes.bytes_ratio == Approx(201.0));
  CHECK(*by_bytes.launches_ratio == Approx(2.0));
  CHECK(*by_bytes.product_rate_ratio == Approx((2e6 / 25e-6) / (4e6 / 50e-6)));
  CHECK_THAT(by_bytes.why, Contains("120 us more in bytes") && Contains("2.01 MB against 10.0 kB"));

  const Contradiction by_size = explain(records, 2, 1);
  CHECK_THAT(by_size.why,
             Contains("40.0 us more in smaller products (3 of 600 kFLOP on average, against 1 of 4.00 MFLOP)"));
  CHECK_THAT(by_size.why, Contains("20.0 GFLOP/s against 80.0 GFLOP/s"));

  std::vector<profilers::Record> untimed = records;
  untimed[0].launches[0].time_median_s.reset();
  CHECK_THAT(explain(untimed, 0, 1).why, Contains("more bytes (2.01 MB against 10.0 kB); more launches (2 against 1)"));
}

TEST_CASE("findings say in sentences what the cases show, and nothing where they show nothing") {
  CHECK(findings({}).empty());
  std::vector<profilers::Record> records = {steady("a", 1'000'000, 1e-3), steady("b", 2'000'000, 2e-3),
                                            steady("c", 4'000'000, 3e-3)};
  auto said = findings(records);
  REQUIRE(said.size() == 2);
  CHECK_THAT(said[0].second, Contains("nearly decides") && Contains("over 3 steady cases") && Contains("1.00"));
  CHECK_THAT(said[1].second, Contains("all 3 measured cases are steady"));
  profilers::Record fused = records[0];
  fused.config.set("plan", std::string("fused"));
  fused.measured->time_median_s = 0.5e-3;
  profilers::Record sandwich = records[0];
  for (profilers::Record* one : {&records[0], &fused}) {
    one->config.set("layout", std::string("standard"));
  }
  sandwich.config.set("layout", std::string("sandwich"));
  sandwich.totals->work = {3'000'000, 3'000'000, 0, 0};
  sandwich.measured->time_median_s = 2e-3;
  said = findings({records[0], fused, sandwich});
  REQUIRE(said.size() == 4);
  CHECK_THAT(said[1].second, Contains("in 1 of 1 pairs") && Contains("50.0 % of the time"));
  CHECK_THAT(said[2].second, Contains("sandwich takes 2 times the time of standard blocks with 3 times the FLOPs"));
}
