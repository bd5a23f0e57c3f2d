#include "operators/core/error.hpp"
#include "profilers/trend.hpp"
#include "reports/trend.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reports_records.hpp"

#include <cmath>

using namespace attnprof;
using profilers::TrendVerdict;

namespace {

/// Runs of one case with these times, numbered from 1.
std::vector<reports::PastRun> runs_with(const std::vector<double>& times_s, const std::string& machine = "m") {
  std::vector<reports::PastRun> out;
  for (const double time_s : times_s) {
    reports::PastRun run;
    run.number = static_cast<std::int64_t>(out.size()) + 1;
    run.machine = machine;
    run.commit = "c" + std::to_string(run.number);
    run.records = {tests::measured_record()};
    run.records[0].measured->time_median_s = time_s;
    out.push_back(std::move(run));
  }
  return out;
}

} // namespace

TEST_CASE("trend: limits follow the runs before, a wild one does not widen them") {
  const std::vector<double> steady{1.00, 1.02, 0.98, 1.01, 0.99, 1.00, 5.0};
  const auto limits = profilers::trend_limits(steady);
  REQUIRE(limits);
  CHECK(limits->center == Catch::Approx(1.0));
  CHECK(limits->high < 1.1);
  CHECK(limits->low > 0.9);
  CHECK(limits->runs == 7);
  CHECK_FALSE(profilers::trend_limits(std::vector<double>{1, 1, 1, 1}));
  // Runs that agree by luck make no limit of nothing.
  CHECK(profilers::trend_limits(std::vector<double>(8, 1.0))->high == Catch::Approx(std::exp(0.03)));
  // Only the window counts.
  std::vector<double> moved(30, 2.0);
  std::fill(moved.begin() + 10, moved.end(), 1.0);
  CHECK(profilers::trend_limits(moved)->center == Catch::Approx(1.0));
}

TEST_CASE("trend: the last run is judged by those before it, in the metric's own direction") {
  const auto verdict = [](std::vector<double> times_s, const char* metric = "time_median_s") {
    return reports::trends_of(runs_with(times_s), metric).front().verdict;
  };
  CHECK(verdict({1, 1, 1, 1, 1, 1.01}) == TrendVerdict::kUsual);
  CHECK(verdict({1, 1, 1, 1, 1, 1.2}) == TrendVerdict::kWorse);
  CHECK(verdict({1, 1, 1, 1, 1, 0.8}) == TrendVerdict::kBetter);
  CHECK(verdict({1, 1, 1, 1, 1.2}) == TrendVerdict::kTooFew);
  CHECK(verdict({1, 1, 1, 1, 1, 1.2}, "flops_per_s") == TrendVerdict::kWorse);
  CHECK(verdict({1, 1, 1, 1, 1, 0.8}, "items_per_s") == TrendVerdict::kBetter);
  CHECK_THROWS_AS(reports::trends_of(runs_with({1}), "status"), operators::Error);
  CHECK_THROWS_AS(reports::trends_of(runs_with({1}), "time_medium_s"), operators::Error);
}

TEST_CASE("trend: machines are kept apart, runs without a value are left out") {
  std::vector<reports::PastRun> runs = runs_with({1, 2, 3});
  runs[1].machine = "other";
  runs[2].records[0].status = profilers::Status::kFailed;
  const auto trends = reports::trends_of(runs, "time_median_s");
  REQUIRE(trends.size() == 2);
  CHECK(trends[0].points.size() == 1);
  CHECK(trends[1].machine == "other");
  const reports::Json json = reports::trends_json(trends);
  CHECK(json[0]["points"][0]["commit"] == "c1");
  CHECK(json[0]["points"][0]["label"].is_null());
  CHECK(json[0]["center"].is_null());
  CHECK(json[0]["unit"] == "s");
  CHECK(json[0]["verdict"] == "TOO FEW");
}

TEST_CASE("trend: a sparkline spans the values") {
  CHECK(reports::sparkline({1, 2, 8}) == "\xE2\x96\x81\xE2\x96\x82\xE2\x96\x88");
  CHECK(reports::sparkline({3, 3}) == "\xE2\x96\x81\xE2\x96\x81");
  CHECK(reports::sparkline({}).empty());
}
