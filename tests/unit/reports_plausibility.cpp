#include "reports/plausibility.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/reports_records.hpp"

using namespace attnprof;
using namespace attnprof::reports;
using tests::launch_cost;
using tests::round_roofs;

namespace {

bool warns(const profilers::Record& record, std::string_view begin, std::string_view part = "") {
  return std::any_of(record.warnings.begin(), record.warnings.end(), [&](const std::string& warning) {
    return warning.starts_with(begin) && warning.find(part) != std::string::npos;
  });
}

/// One matrix product of 2 GFLOP, which takes 20 ms at 100 GFLOP/s.
profilers::Record product(double time_s) {
  profilers::Record record = tests::counted_record();
  record.launches = {{launch_cost("x", "matmul", 1'000'000'000, 0, 0, 10, 10, 20), "", time_s}};
  tests::add_totals(record);
  record.measured = profilers::Measurement{};
  record.measured->time_median_s = time_s;
  record.measured->timer_resolution_s = 3e-8;
  return record;
}

} // namespace

TEST_CASE("plausibility: a time below the roof marks the launch and the case, and the row stays ok") {
  profilers::Record record = product(0.018);
  derive(record, round_roofs());
  CHECK(record.status == profilers::Status::kOk);
  CHECK(record.launch_roofs[0].implausible.starts_with("111 % of its roof: the compute ceiling"));
  CHECK(record.roof.implausible.find("18.0 ms") != std::string::npos);
  CHECK(warns(record, "above the roof: 1 of 1 launches"));
  CHECK(implausible_reason(record) == record.roof.implausible);
  record = product(0.021);
  derive(record, round_roofs());
  CHECK(record.launch_roofs[0].implausible.empty());
  CHECK(implausible_reason(record).empty());
  CHECK(record.warnings.empty());
}

TEST_CASE("plausibility: what lies above its roof by less than ceilings are known still has a warning") {
  profilers::Record record = product(0.0195);
  derive(record, round_roofs());
  CHECK(implausible_reason(record).empty());
  CHECK(warns(record, "at the roof: 1 of 1 launches, most x with 103 %"));
  derive(record, round_roofs());
  CHECK(record.warnings.size() == 2); // of the case and of its launch, once each
}

TEST_CASE("plausibility: one known ceiling is enough to contradict a time") {
  profilers::Record record = tests::counted_record();
  record.launches = {{launch_cost("x", "softmax", 0, 0, 1'000'000, 8'000'000, 8'000'000, 16'000'000), "", 0.4e-3}};
  tests::add_totals(record);
  record.measured = profilers::Measurement{};
  record.measured->time_median_s = 0.4e-3;
  Roofs roofs = round_roofs();
  roofs.matrix.reset();
  roofs.vector.reset();
  roofs.transcendental.reset();
  derive(record, roofs);
  CHECK_FALSE(record.launch_roofs[0].roof_fraction); // 16 MB in 0.4 ms are 40 GB/s beside a DRAM of 20
  CHECK(record.launch_roofs[0].implausible.find("40.0 GB/s where the DRAM ceiling allows 20.0 GB/s") !=
        std::string::npos);
}

TEST_CASE("plausibility: a sample of a few timer steps is too short") {
  profilers::Record record = product(0.021);
  record.measured->timer_resolution_s = 4e-3;
  record.measured->iterations_per_sample = 1;
  derive(record, round_roofs());
  CHECK(record.roof.implausible.find("too short for a timer with steps of 4.00 ms") != std::string::npos);
  record.measured->iterations_per_sample = 10;
  derive(record, round_roofs());
  CHECK(record.roof.implausible.empty());
}

TEST_CASE("plausibility: counters that beat the machine are wrong") {
  profilers::Record record = product(0.1);
  record.measured->counters.dram_bytes = 1'900'000'000; // 19 GB/s of 20
  record.measured->counters.fp_ops = 9'000'000'000;     // 90 GFLOP/s of 100
  derive(record, round_roofs());
  CHECK(record.roof.implausible.empty());
  record.measured->counters.dram_bytes = 2'200'000'000;
  derive(record, round_roofs());
  CHECK(record.roof.implausible.find("22.0 GB/s read from memory by the counters where the DRAM ceiling allows 20.0") !=
        std::string::npos);
  record.measured->counters.dram_bytes.reset();
  record.measured->counters.fp_ops = 12'000'000'000;
  derive(record, round_roofs());
  CHECK(record.roof.implausible.find("120 GFLOP/s by the counters where the fastest unit reaches 100") !=
        std::string::npos);
  record.measured->counters.fp_ops_are_counted = true; // then it is no counter's word
  derive(record, round_roofs());
  CHECK(record.roof.implausible.empty());
}

TEST_CASE("plausibility: more misses of the last level than of the second are said (BUG-105)") {
  profilers::Record record = product(0.1);
  record.measured->counters.l2_misses = 200;
  record.measured->counters.llc_misses = 100;
  derive(record, round_roofs());
  CHECK(record.roof.implausible.empty());
  record.measured->counters.llc_misses = 300;
  derive(record, round_roofs());
  CHECK(warns(record, "implausible: 300 misses of the last cache level and 200 of the second"));
}
