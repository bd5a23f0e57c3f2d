#include "cli/gate.hpp"
#include "cli/rows.hpp"
#include "operators/core/error.hpp"
#include "tests/support/catch.hpp"

#include <sstream>

using namespace attnprof;
using cli::Change;
using cli::GateOptions;
using profilers::Record;
using profilers::Status;

namespace {

Record timed(const std::string& id, double median_s, double half_width_s) {
  Record record;
  record.id = id;
  record.config.set("variant", id);
  record.totals.emplace();
  record.measured.emplace();
  record.measured->time_median_s = median_s;
  record.measured->time_ci_low_s = median_s - half_width_s;
  record.measured->time_ci_high_s = median_s + half_width_s;
  return record;
}

Record failed(const std::string& id) {
  Record record;
  record.id = id;
  record.status = Status::kFailed;
  record.reason = "it broke";
  return record;
}

template <class Function>
std::string refusal_of(const Function& function) {
  try {
    function();
  } catch (const operators::Error& error) {
    return error.what();
  }
  FAIL("nothing was thrown");
  return {};
}

bool says(const std::string& sentence, std::string_view part) {
  return sentence.find(part) != std::string::npos;
}

Change one(const Record& before, const Record& after, const GateOptions& options = {}) {
  const auto rows = cli::compare_records({before}, {after}, options);
  REQUIRE(rows.size() == 1);
  return rows[0].change;
}

int exit_code(const std::vector<Record>& before, const std::vector<Record>& after, const GateOptions& options = {}) {
  return gate_exit_code(cli::compare_records(before, after, options), options);
}

} // namespace

TEST_CASE("gate: a change needs both the threshold and separate intervals") {
  const Record base = timed("a", 1.0, 0.01);
  CHECK(one(base, timed("a", 1.0, 0.01)) == Change::kSame);
  CHECK(one(base, timed("a", 1.04, 0.001)) == Change::kSame); // certain, but tolerated
  CHECK(one(base, timed("a", 1.2, 0.01)) == Change::kSlower);
  CHECK(one(base, timed("a", 1.2, 0.3)) == Change::kInconclusive); // could be noise
  CHECK(one(base, timed("a", 0.8, 0.01)) == Change::kFaster);
  CHECK(one(base, timed("a", 0.8, 0.3)) == Change::kSame);
  GateOptions wide;
  wide.threshold = 0.3;
  CHECK(one(base, timed("a", 1.2, 0.01), wide) == Change::kSame);
  CHECK(one(base, timed("a", 1.31, 0.001), wide) == Change::kSlower);
}

TEST_CASE("gate: a slow row fails with 3 and a fast one never does") {
  const std::vector<Record> before{timed("a", 1.0, 0.01), timed("b", 1.0, 0.01)};
  const std::vector<Record> slower{timed("a", 1.0, 0.01), timed("b", 1.8, 0.01)};
  CHECK(exit_code(before, before) == 0);
  CHECK(exit_code(before, slower) == 3);
  CHECK(exit_code(slower, before) == 0);
}

TEST_CASE("gate: rows that vanish or break have codes of their own, new rows have none") {
  const std::vector<Record> before{timed("a", 1.0, 0.01), timed("b", 1.0, 0.01)};
  CHECK(exit_code(before, {timed("a", 1.0, 0.01)}) == 5);
  CHECK(exit_code({timed("a", 1.0, 0.01)}, before) == 0);
  CHECK(exit_code(before, {timed("a", 1.0, 0.01), failed("b")}) == 4);
  CHECK(exit_code({timed("a", 1.0, 0.01), failed("b")}, before) == 0); // nothing to regress from
  CHECK(exit_code(before, {timed("a", 2.0, 0.01)}) == 3);              // a regression is named before a missing row
  const auto rows = cli::compare_records(before, {failed("b"), timed("c", 1, 0.1)}, {});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].change == Change::kMissing);
  CHECK(rows[1].change == Change::kFailed);
  CHECK(rows[1].reason.find("it broke") != std::string::npos);
  CHECK(rows[2].change == Change::kNew);
}

TEST_CASE("gate: --fail-on chooses what fails") {
  const std::vector<Record> before{timed("a", 1.0, 0.01)};
  const std::vector<Record> noisy{timed("a", 1.2, 0.3)};
  GateOptions options;
  CHECK(exit_code(before, noisy, options) == 0);
  cli::parse_fail_on("inconclusive", options);
  CHECK(exit_code(before, noisy, options) == 6);
  CHECK(exit_code(before, {timed("a", 1.8, 0.01)}, options) == 0);
  CHECK(exit_code(before, {}, options) == 0);
  cli::parse_fail_on("none", options);
  CHECK(exit_code(before, noisy, options) == 0);
  cli::parse_fail_on("regress,missing", options);
  CHECK(exit_code(before, {timed("a", 1.8, 0.01)}, options) == 3);
  CHECK(exit_code(before, {}, options) == 5);
  CHECK(says(refusal_of([&] { cli::parse_fail_on("regres", options); }), "did you mean 'regress'"));
}

TEST_CASE("gate: --fail-on implausible fails on a figure that cannot be right, and only if asked") {
  GateOptions options;
  CHECK_FALSE(options.fail_on_implausible);
  cli::parse_fail_on("implausible", options);
  CHECK(options.fail_on_implausible);
  CHECK_FALSE(options.fail_on_regress);
  cli::parse_fail_on("regress", options);
  CHECK_FALSE(options.fail_on_implausible);
  Record sound = timed("a", 1.0, 0.01);
  Record odd = timed("b", 1.0, 0.01);
  odd.launches.resize(2);
  odd.launches[1].cost.scope = "mixer/scores";
  odd.launch_roofs.resize(2);
  odd.launch_roofs[1].implausible = "140 % of its roof";
  std::ostringstream err;
  CHECK(cli::implausible_exit_code({sound}, err) == 0);
  CHECK(err.str().empty());
  CHECK(cli::implausible_exit_code({sound, odd}, err) == 3);
  CHECK(says(err.str(), "implausible: b: mixer/scores: 140 % of its roof"));
}

TEST_CASE("gate: few samples are compared by their range, one sample decides nothing") {
  Record before = timed("a", 1.0, 0.01);
  before.measured->time_ci_low_s.reset();
  before.measured->time_ci_high_s.reset();
  before.measured->samples_s = {0.99, 1.0, 1.01};
  Record after = before;
  after.measured->time_median_s = 2.0;
  after.measured->samples_s = {1.9, 2.0, 2.1};
  CHECK(one(before, after) == Change::kSlower);
  after.measured->samples_s = {1.005, 2.0, 2.1};
  CHECK(one(before, after) == Change::kInconclusive);
  after.measured->samples_s = {2.0};
  CHECK(one(before, after) == Change::kInconclusive);
}

TEST_CASE("gate: other metrics are compared by value, in their own direction") {
  Record before = timed("a", 1.0, 0.01);
  Record after = before;
  before.totals->bytes_read = 1000;
  after.totals->bytes_read = 1200;
  GateOptions options;
  options.metric = "bytes";
  CHECK(one(before, after, options) == Change::kSlower);
  CHECK(one(after, before, options) == Change::kFaster);
  options.metric = "bytes_per_s"; // more bytes in the same time is a higher rate
  CHECK(one(before, after, options) == Change::kFaster);
  CHECK(one(after, before, options) == Change::kSlower);
  options.metric = "time_medium_s";
  CHECK(says(refusal_of([&] { cli::compare_records({before}, {after}, options); }), "time_median_s"));
  options.metric = "status";
  CHECK(says(refusal_of([&] { cli::compare_records({before}, {after}, options); }), "no number"));
}

TEST_CASE("gate: the table names every row and counts the verdicts") {
  const std::vector<Record> before{timed("a", 1.0, 0.01), timed("b", 1.0, 0.01), timed("c", 1.0, 0.01)};
  const std::vector<Record> after{timed("a", 1.0, 0.01), timed("b", 1.8, 0.01), timed("d", 1.0, 0.01)};
  const GateOptions options;
  const std::string table = change_table(cli::compare_records(before, after, options), before, after, options);
  for (const char* text : {"+80.0 %", "regressed", "missing", "new", "4 cases", "1 same", "1 regressed"}) {
    INFO(table);
    CHECK(table.find(text) != std::string::npos);
  }
}
