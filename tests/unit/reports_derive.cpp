#include "reports/derive.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reports_records.hpp"

#include <tuple>

using namespace attnprof;
using namespace attnprof::reports;
using attnprof::tests::launch_cost;
using attnprof::tests::round_roofs;

namespace {

profilers::RoofVerdict judge(const operators::LaunchCost& cost, const Roofs& roofs, std::optional<double> time_s = {}) {
  return roof_verdict(time_bounds(cost, roofs), cost.work.flops(), time_s);
}

/// One ceiling for every unit, one bandwidth: the textbook roofline.
Roofs plain_roofs(double flops_per_s, double bytes_per_s) {
  Roofs roofs;
  roofs.matrix = UnitRoof{flops_per_s, "peak", "given"};
  roofs.memory = {{"DRAM", {}, bytes_per_s, "given"}};
  return roofs;
}

} // namespace

TEST_CASE("each resource has its own time, the largest decides") {
  const auto cost = launch_cost("a", "matmul", 1'000'000, 50'000, 10'000, 60'000, 40'000, 100'000);
  const TimeBounds bounds = time_bounds(cost, round_roofs());
  CHECK(*bounds.matrix_s == Catch::Approx(2e6 / 100e9));
  CHECK(*bounds.vector_s == Catch::Approx(40'000 / 50e9)); // without the transcendentals
  CHECK(*bounds.transcendental_s == Catch::Approx(1e-5));
  CHECK(*bounds.memory_s == Catch::Approx(1e5 / 400e9));
  CHECK(bounds.level == "L1");
  const auto verdict = judge(cost, round_roofs());
  CHECK(verdict.bound == "compute");
  CHECK(*verdict.roof_time_s == Catch::Approx(2e-5));
  CHECK(*verdict.bound_margin == Catch::Approx(2.0));
  CHECK(*verdict.attainable_flops_per_s == Catch::Approx(2'050'000 / 2e-5));
  CHECK_FALSE(verdict.roof_fraction);
}

TEST_CASE("each kind of bound is reachable") {
  const Roofs roofs = round_roofs();
  CHECK(judge(launch_cost("a", "matmul", 1'000'000, 0, 0, 10, 10, 20), roofs).bound == "compute");
  CHECK(judge(launch_cost("a", "pointwise", 0, 1'000'000, 0, 10, 10, 20), roofs).bound == "vector");
  CHECK(judge(launch_cost("a", "softmax", 0, 1'000'000, 1'000'000, 10, 10, 20), roofs).bound == "transcendental");
  CHECK(judge(launch_cost("a", "copy", 0, 0, 0, 1'000'000, 1'000'000, 2'000'000), roofs).bound == "memory");
}

TEST_CASE("the level that holds the working set gives the bandwidth") {
  const Roofs roofs = round_roofs();
  CHECK(judge(launch_cost("a", "copy", 0, 0, 0, 50, 50, 100'000), roofs).roof_level == "L1");
  CHECK(judge(launch_cost("a", "copy", 0, 0, 0, 50, 50, 100'001), roofs).roof_level == "L2");
  CHECK(judge(launch_cost("a", "copy", 0, 0, 0, 50, 50, 1'000'001), roofs).roof_level == "DRAM");
}

TEST_CASE("BUG-203: operations without FLOPs take time") {
  const Roofs roofs = plain_roofs(1000e9, 50e9);
  const auto copy = judge(launch_cost("a", "copy", 0, 0, 0, 50'000'000, 50'000'000, 100'000'000), roofs);
  CHECK(*copy.roof_time_s == Catch::Approx(2.0e-3));
  CHECK_FALSE(copy.attainable_flops_per_s);
  const auto product = judge(launch_cost("a", "matmul", 500'000'000, 0, 0, 50'000'000, 50'000'000, 1), roofs);
  CHECK(*product.roof_time_s == Catch::Approx(2.0e-3));
  CHECK(product.bound == "memory");
}

TEST_CASE("BUG-086: bytes over bytes per second, no GiB mixed in") {
  const auto verdict = judge(launch_cost("a", "copy", 0, 0, 0, 1'073'741'824, 0, 1), plain_roofs(1e12, 100e9));
  CHECK(*verdict.roof_time_s == Catch::Approx(10.73741824e-3));
}

TEST_CASE("BUG-100, BUG-101: zeros give absent values, never infinities") {
  const Roofs roofs = round_roofs();
  const auto nothing = judge(launch_cost("a", "copy", 0, 0, 0, 0, 0, 0), roofs, 1e-5);
  CHECK_FALSE(nothing.roof_time_s);
  CHECK_FALSE(nothing.attainable_flops_per_s);
  CHECK_FALSE(nothing.roof_fraction);
  CHECK(nothing.bound.empty());
  CHECK(nothing.roof_level.empty());
  const auto no_bytes = judge(launch_cost("a", "matmul", 100, 0, 0, 0, 0, 0), roofs, 0.0);
  CHECK(no_bytes.bound == "compute");
  CHECK_FALSE(no_bytes.roof_fraction); // time 0 is no time
  CHECK_FALSE(no_bytes.bound_margin);
  const auto no_flops = judge(launch_cost("a", "copy", 0, 0, 0, 100, 0, 100), roofs, 1e-3);
  CHECK_FALSE(no_flops.attainable_flops_per_s);
  CHECK(no_flops.roof_fraction);
}

TEST_CASE("a missing ceiling leaves the verdict absent, unless a faster unit bounds it") {
  Roofs roofs = round_roofs();
  roofs.transcendental.reset();
  roofs.vector.reset();
  const auto softmax = judge(launch_cost("a", "softmax", 0, 1'000'000, 500'000, 10, 10, 20), roofs);
  CHECK(*softmax.roof_time_s == Catch::Approx(500'000 / 100e9));
  roofs.matrix.reset();
  CHECK_FALSE(judge(launch_cost("a", "matmul", 1, 0, 0, 10, 10, 20), roofs).roof_time_s);
  CHECK(judge(launch_cost("a", "matmul", 1, 0, 0, 10, 10, 20), roofs).bound.empty());
  CHECK(judge(launch_cost("a", "copy", 0, 0, 0, 10, 10, 20), roofs).bound == "memory");
  roofs.memory.clear();
  CHECK(judge(launch_cost("a", "copy", 0, 0, 0, 10, 10, 20), roofs).bound.empty());
}

TEST_CASE("far from every roof is unexplained, whatever the time") {
  const Roofs roofs = round_roofs();
  for (const std::int64_t scale : {1, 100'000}) {
    const auto cost = launch_cost("a", "matmul", 50'000 * scale, 0, 0, 10, 10, 20); // roof 1 us and 100 ms
    const double roof_s = 1e-6 * static_cast<double>(scale);
    CHECK(judge(cost, roofs, 9.9 * roof_s).bound == "compute");
    const auto slow = judge(cost, roofs, 10.1 * roof_s);
    CHECK(slow.bound == "unexplained");
    CHECK_FALSE(slow.bound_margin);
    CHECK(*slow.roof_fraction == Catch::Approx(1.0 / 10.1));
  }
  const auto copy = judge(launch_cost("a", "copy", 0, 0, 0, 1'000'000, 1'000'000, 2'000'000), roofs, 2e-3);
  CHECK(copy.bound == "unexplained");
  CHECK(copy.roof_level == "DRAM");
}

TEST_CASE("overhead is claimed where that of an empty launch accounts for the time") {
  Roofs roofs = round_roofs();
  const auto cost = launch_cost("a", "matmul", 50'000, 0, 0, 10, 10, 20); // roof 1 us
  roofs.launch_overhead_s = 4e-6;
  const auto slow = judge(cost, roofs, 5e-6);
  CHECK(slow.bound == "overhead");
  CHECK(*slow.bound_margin == Catch::Approx(4.0));
  CHECK(judge(cost, roofs, 8.9e-6).bound == "overhead"); // at least half of the excess
  CHECK(judge(cost, roofs, 9.1e-6).bound == "compute");  // less than half: who knows what the rest is
  CHECK(judge(cost, roofs, 11e-6).bound == "unexplained");
  CHECK(judge(cost, roofs, 1.9e-6).bound == "compute"); // near its roof
  roofs.launch_overhead_s = 0.9e-6;
  CHECK(judge(cost, roofs, 2.1e-6).bound == "compute"); // the roof is the larger part
}

TEST_CASE("a case far from its roof is not called bound by what its launches would be") {
  profilers::Record record = tests::measured_record(); // roof 130 us
  record.measured->time_median_s = 2e-3;
  Roofs roofs = round_roofs();
  derive(record, roofs);
  CHECK(record.launch_roofs[2].bound == "memory");
  CHECK(record.roof.bound == "unexplained");
  CHECK_FALSE(record.roof.bound_margin);
  roofs.launch_overhead_s = 0.4e-3; // three launches: 1.2 ms of the 1.87 ms above the roof
  derive(record, roofs);
  CHECK(record.roof.bound == "overhead");
  roofs.launch_overhead_s = 0.2e-3;
  derive(record, roofs);
  CHECK(record.roof.bound == "unexplained");
}

TEST_CASE("weights and caches come from where the whole case fits, activations from where the launch does") {
  const Roofs roofs = round_roofs();
  auto cost = launch_cost("a", "matmul", 10, 0, 0, 60'000, 10'000, 70'000);
  cost.bytes.weights_read = 40'000;
  cost.bytes.cache_read = 10'000;
  const TimeBounds alone = time_bounds(cost, roofs);
  CHECK(alone.level == "L1");
  CHECK(*alone.memory_s == Catch::Approx(70'000 / 400e9));
  const TimeBounds middle = time_bounds(cost, roofs, {500'000, false, false});
  CHECK(middle.level == "L2");
  CHECK(*middle.memory_s == Catch::Approx(50'000 / 200e9));
  const TimeBounds deep = time_bounds(cost, roofs, {50'000'000, false, false});
  CHECK(deep.level == "DRAM");
  CHECK(*deep.memory_s == Catch::Approx(50'000 / 20e9));
}

TEST_CASE("what the cache policy evicts comes from DRAM, however small the case") {
  const Roofs roofs = round_roofs();
  auto cost = launch_cost("a", "matmul", 10, 0, 0, 60'000, 10'000, 70'000);
  cost.bytes.weights_read = 40'000;
  cost.bytes.cache_read = 10'000;
  CHECK(*time_bounds(cost, roofs, {0, true, false}).memory_s == Catch::Approx(40'000 / 20e9));
  CHECK(*time_bounds(cost, roofs, {0, false, true}).memory_s == Catch::Approx(10'000 / 20e9));
  CHECK(*time_bounds(cost, roofs, {0, true, true}).memory_s == Catch::Approx(50'000 / 20e9));
  CHECK(time_bounds(cost, roofs, {0, true, true}).level == "DRAM");
  // Far bytes pass through the near level too: few of them do not hide what the activations need.
  cost.bytes.weights_read = 100;
  cost.bytes.cache_read = 0;
  CHECK(time_bounds(cost, roofs, {0, true, true}).level == "L1");
}

TEST_CASE("the residence of a case follows from its totals and its cache policy") {
  profilers::Record record = tests::measured_record();
  record.totals->kv_cache_bytes = 700;
  CHECK(residence_of(record).footprint_bytes == 1200 + 700 + 5000);
  using profilers::CachePolicy;
  for (const auto& [policy, weights, cache] :
       {std::tuple(CachePolicy::kWarm, false, false), std::tuple(CachePolicy::kCold, true, true),
        std::tuple(CachePolicy::kColdWeights, true, false), std::tuple(CachePolicy::kColdKv, false, true)}) {
    record.measured->cache_policy = policy;
    CHECK(residence_of(record).weights_are_cold == weights);
    CHECK(residence_of(record).cache_is_cold == cache);
  }
  record.totals->weight_bytes = 5'000'000;
  record.measured->cache_policy = CachePolicy::kWarm;
  record.launches[0].cost.bytes.weights_read = 40'000;
  derive(record, round_roofs());
  CHECK(record.launch_roofs[0].roof_level == "DRAM");
  CHECK(record.launch_roofs[1].roof_level == "L1");
}

TEST_CASE("launches that do not add up to the case are warned of") {
  profilers::Record record = tests::measured_record(); // launches: 130 us
  record.measured->time_median_s = 109e-6;
  derive(record, round_roofs());
  CHECK(record.warnings.size() == 1); // above its roof, but 130 of 109 us are within 20 %
  record.measured->time_median_s = 200e-6;
  derive(record, round_roofs());
  derive(record, round_roofs());
  REQUIRE(record.warnings.size() == 1);
  CHECK(record.warnings[0] == "launch times: one by one the launches take 130 us, 65.0 % of the 200 us of the case, so "
                              "shares of the launch time may not be those of the case");
  record.launches[0].time_median_s.reset();
  derive(record, round_roofs());
  CHECK(record.warnings.empty());
}

TEST_CASE("near ties are ambiguous") {
  const Roofs roofs = plain_roofs(100e9, 10e9);
  const auto near = judge(launch_cost("a", "matmul", 50'000, 0, 0, 9'000, 0, 1), roofs);
  CHECK(*near.bound_margin == Catch::Approx(1000.0 / 900.0));
  CHECK(is_ambiguous(near));
  CHECK_FALSE(is_ambiguous(judge(launch_cost("a", "matmul", 50'000, 0, 0, 5'000, 0, 1), roofs)));
  CHECK_FALSE(is_ambiguous(profilers::RoofVerdict{}));
}

TEST_CASE("a case sums the roof times of its launches") {
  profilers::Record record = tests::measured_record();
  derive(record, round_roofs());
  REQUIRE(record.launch_roofs.size() == 3);
  CHECK(record.launch_roofs[0].bound == "compute");        // 20 us
  CHECK(record.launch_roofs[1].bound == "transcendental"); // 10 us
  CHECK(record.launch_roofs[2].bound == "memory");         // 100 us
  CHECK(*record.roof.roof_time_s == Catch::Approx(130e-6));
  CHECK(*record.roof.roof_fraction == Catch::Approx(130.0 / 140.0));
  CHECK(*record.roof.attainable_flops_per_s == Catch::Approx(2'050'000 / 130e-6));
  CHECK(record.roof.bound == "memory");
  CHECK(*record.roof.bound_margin == Catch::Approx(5.0));
  CHECK(record.roof.roof_level == "DRAM");
  CHECK(*record.memory_bound_time_share == Catch::Approx(100.0 / 130.0));
  CHECK(*record.attention_time_share == Catch::Approx(1.0));
  CHECK(record.warnings.empty());
}

TEST_CASE("attention share counts mixer scopes inside a layout") {
  profilers::Record record = tests::measured_record();
  record.config.set("layout", std::string("standard"));
  record.launches[0].cost.scope = "block0/mixer/scores";
  record.launches[1].cost.scope = "block0/mixer/softmax";
  record.launches[2].cost.scope = "block0/ffn/mixer_like";
  derive(record, round_roofs());
  CHECK(*record.attention_time_share == Catch::Approx(30.0 / 130.0));
  record.launches[1].time_median_s.reset();
  derive(record, round_roofs());
  CHECK_FALSE(record.attention_time_share);
  CHECK_FALSE(record.memory_bound_time_share);
}

TEST_CASE("BUG-085: above the roof is flagged with both rates and the likely cause, not clipped") {
  profilers::Record record = tests::counted_record();
  record.launches = {{launch_cost("x", "copy", 0, 0, 0, 400'000'000, 400'000'000, 800'000'000), "", 2.133e-3}};
  tests::add_totals(record);
  record.measured = profilers::Measurement{};
  record.measured->time_median_s = 2.133e-3;
  Roofs roofs = round_roofs();
  roofs.memory.back().bytes_per_s = 300e9;
  derive(record, roofs);
  CHECK(*record.launch_roofs[0].roof_fraction == Catch::Approx(1.2502).epsilon(1e-3));
  REQUIRE(record.warnings.size() == 2);
  CHECK(record.warnings[1] == "above the roof: 1 of 1 launches, most x with 125 % of its roof: 375 GB/s where the DRAM "
                              "ceiling allows 300 GB/s; its 762.9 MiB are probably held by L2");
}

TEST_CASE("BUG-093, BUG-099, BUG-111: above a compute ceiling names ceiling and origin") {
  profilers::Record record = tests::counted_record();
  record.launches = {{launch_cost("x", "matmul", 1'000'000'000, 0, 0, 10, 10, 20), "", 2e9 / 95e9}};
  tests::add_totals(record);
  Roofs roofs = round_roofs();
  roofs.matrix = UnitRoof{90e9, "fma f32", "given"};
  derive(record, roofs);
  CHECK(*record.launch_roofs[0].roof_fraction == Catch::Approx(95.0 / 90.0));
  REQUIRE(record.warnings.size() == 1);
  CHECK(record.warnings[0].find("compute ceiling (fma f32, given) is too low") != std::string::npos);
}

TEST_CASE("a launch of few timer steps is too short to judge") {
  profilers::Record record = tests::measured_record();
  record.launches[0].time_median_s = 1e-7;
  record.measured->time_median_s = 125e-6; // within 20 % of what the launches add up to
  derive(record, round_roofs());
  REQUIRE(record.warnings.size() == 2); // and that the case is at its roof
  CHECK(record.warnings[1].find("100 ns is too short for a timer with steps of 30.0 ns") != std::string::npos);
}

TEST_CASE("deriving again changes nothing, and other warnings stay") {
  profilers::Record record = tests::measured_record();
  record.warnings = {"the governor is powersave"};
  record.launches[0].time_median_s = 1e-7;
  record.measured->time_median_s = 125e-6; // within 20 % of what the launches add up to
  derive(record, round_roofs());
  const auto once = record.warnings;
  derive(record, round_roofs());
  CHECK(record.warnings == once);
  CHECK(once.size() == 3);
  CHECK(once[0] == "the governor is powersave");
}

TEST_CASE("without a measurement the roof is the prediction") {
  profilers::Record record = tests::counted_record();
  derive(record, round_roofs());
  CHECK(*record.roof.roof_time_s == Catch::Approx(130e-6));
  CHECK(record.roof.bound == "memory");
  CHECK_FALSE(record.roof.roof_fraction);
  CHECK_FALSE(record.memory_bound_time_share);
  const auto shares = bound_shares(record);
  REQUIRE(shares.size() == 3);
  CHECK(shares[0].bound == "memory");
  CHECK(shares[0].share == Catch::Approx(100.0 / 130.0));
}

TEST_CASE("records without totals are left without verdict") {
  profilers::Record record;
  record.status = profilers::Status::kInvalid;
  record.roof.bound = "memory";
  derive(record, round_roofs());
  CHECK(record.roof.bound.empty());
  CHECK(bound_shares(record).empty());
}
