#include "cli/gate_views.hpp"
#include "cli/rows.hpp"
#include "operators/core/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <random>
#include <sstream>

using namespace attnprof;
using cli::Change;
using cli::GateOptions;
using profilers::Record;
using profilers::Status;
using tests::mentions;
using tests::refusal_of;

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

Change one(const Record& before, const Record& after, const GateOptions& options = {}) {
  const auto rows = cli::compare_records({before}, {after}, options).rows;
  REQUIRE(rows.size() == 1);
  return rows[0].change;
}

int exit_code(const std::vector<Record>& before, const std::vector<Record>& after, const GateOptions& options = {}) {
  return gate_exit_code(cli::compare_records(before, after, options), options);
}

/// A run of `rows` cases on a machine whose samples scatter by 3 %, whose speed wanders by 1 % from case to case, and
/// which stalls now and then.
std::vector<Record> noisy_run(std::uint64_t seed, std::size_t rows, double slow_first = 1.0) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return (static_cast<double>(random() >> 11U) + 0.5) / 9007199254740992.0; };
  const auto normal = [&] { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); };
  std::vector<Record> out;
  for (std::size_t row = 0; row < rows; ++row) {
    Record record;
    record.id = fmt::format("case{}", row);
    record.config.set("variant", record.id);
    record.totals.emplace();
    record.measured.emplace();
    const double speed = std::exp(0.01 * normal()) * (row == 0 ? slow_first : 1.0);
    for (int i = 0; i < 60; ++i) {
      const double stall = uniform() < 0.03 ? 1.5 : 1.0;
      record.measured->samples_s.push_back(1e-3 * speed * stall * std::exp(0.03 * normal()));
    }
    record.measured->time_median_s = profilers::median(record.measured->samples_s);
    out.push_back(std::move(record));
  }
  return out;
}

bool has_alarm(const cli::Comparison& comparison) {
  return std::any_of(comparison.rows.begin(), comparison.rows.end(), [](const cli::RowChange& row) {
    return row.change == Change::kSlower || row.change == Change::kFaster;
  });
}

GateOptions with_threshold(double threshold) {
  GateOptions out;
  out.threshold = threshold;
  return out;
}

} // namespace

TEST_CASE("gate: a change needs both the threshold and more than chance") {
  const Record base = timed("a", 1.0, 0.01);
  CHECK(one(base, timed("a", 1.0, 0.01)) == Change::kSame);
  CHECK(one(base, timed("a", 1.04, 0.001)) == Change::kSame); // certain, but tolerated
  CHECK(one(base, timed("a", 1.2, 0.01)) == Change::kSlower);
  CHECK(one(base, timed("a", 1.2, 0.3)) == Change::kInconclusive); // could be noise
  CHECK(one(base, timed("a", 1.0, 0.3)) == Change::kInconclusive); // equality is not shown either
  CHECK(one(base, timed("a", 0.8, 0.01)) == Change::kFaster);
  CHECK(one(base, timed("a", 0.8, 0.3)) == Change::kInconclusive);
  CHECK(one(base, timed("a", 1.2, 0.01), with_threshold(0.3)) == Change::kSame);
  CHECK(one(base, timed("a", 1.31, 0.001), with_threshold(0.3)) == Change::kSlower);
}

TEST_CASE("gate: a row has effect, interval, smallest detectable effect and corrected p") {
  const std::vector<Record> before = noisy_run(1, 8);
  const std::vector<Record> after = noisy_run(2, 8, 1.3);
  const cli::Comparison comparison = cli::compare_records(before, after, {});
  const cli::RowChange& slow = comparison.rows.front();
  CHECK(slow.change == Change::kSlower);
  REQUIRE(slow.ratio);
  REQUIRE(slow.interval);
  CHECK(slow.interval->low < *slow.ratio);
  CHECK(slow.interval->high > *slow.ratio);
  CHECK(slow.interval->low > 1.0);
  REQUIRE(slow.smallest_detectable);
  CHECK(*slow.smallest_detectable > 0.0);
  CHECK(*slow.smallest_detectable < 0.3);
  REQUIRE(slow.p);
  CHECK(*slow.p < 0.05);
  REQUIRE(comparison.noise_floor);
  CHECK(*comparison.noise_floor > 0.0);
  CHECK(comparison.self_tests == 16);
}

TEST_CASE("gate: of 200 runs against a like run at most 10 raise an alarm, and a 10 % slow-down is found in 190") {
  int alarms = 0;
  int found = 0;
  constexpr int kRuns = 200;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    const std::vector<Record> before = noisy_run(2 * seed, 12);
    alarms += has_alarm(cli::compare_records(before, noisy_run(2 * seed + 1, 12), {})) ? 1 : 0;
    const cli::Comparison slowed = cli::compare_records(before, noisy_run(2 * seed + 1, 12, 1.1), {});
    if (slowed.rows.front().change == Change::kSlower) {
      ++found;
      CHECK(gate_exit_code(slowed, {}) == 3);
    }
  }
  CHECK(alarms <= kRuns / 20);
  CHECK(found >= kRuns - kRuns / 20);
}

TEST_CASE("gate: a threshold below the noise floor is refused, the default one is raised to it with a note") {
  std::vector<Record> before = noisy_run(3, 4);
  for (Record& record : before) { // the second half of every case ran 20 % slower
    std::vector<double>& samples = record.measured->samples_s;
    std::for_each(samples.begin() + 30, samples.end(), [](double& one) { one *= 1.2; });
  }
  CHECK(mentions(refusal_of([&] { cli::compare_records(before, before, with_threshold(0.02)); }), "noise floor"));
  CHECK(mentions(refusal_of([&] { cli::compare_records(before, before, with_threshold(0.02)); }), "--gate counts"));
  const cli::Comparison raised = cli::compare_records(before, before, {});
  CHECK(raised.threshold == raised.noise_floor);
  CHECK(raised.threshold > 0.15);
  REQUIRE(raised.notes.size() == 1);
  CHECK(mentions(raised.notes[0], "raised from 5.0 %"));
  CHECK(cli::compare_records(before, before, with_threshold(0.5)).notes.empty());
  // A second run of the same build says more about noise than the halves of one.
  const cli::Comparison repeated = cli::compare_records(noisy_run(3, 4), noisy_run(4, 4), {}, noisy_run(5, 4));
  CHECK(repeated.self_tests == 4);
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
  const auto rows = cli::compare_records(before, {failed("b"), timed("c", 1, 0.1)}, {}).rows;
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
  CHECK(mentions(refusal_of([&] { cli::parse_fail_on("regres", options); }), "did you mean 'regress'"));
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
  CHECK(mentions(err.str(), "implausible: b: mixer/scores: 140 % of its roof"));
}

TEST_CASE("BUG-212: three samples prove nothing, and say so") {
  Record before = timed("a", 1.0, 0.01);
  before.measured->samples_s = {0.99, 1.0, 1.01};
  Record after = before;
  after.measured->time_median_s = 2.0;
  after.measured->samples_s = {1.9, 2.0, 2.1};
  const cli::RowChange row = cli::compare_records({before}, {after}, {}).rows.front();
  CHECK(row.change == Change::kInconclusive);
  CHECK(mentions(row.reason, "not enough samples: 3 before and 3 now"));
  CHECK_FALSE(row.interval);
  CHECK_FALSE(row.p);
}

TEST_CASE("gate: what was measured warm before and cold now is not compared") {
  Record after = timed("a", 1.8, 0.01);
  after.measured->cache_policy = profilers::CachePolicy::kCold;
  const cli::RowChange row = cli::compare_records({timed("a", 1.0, 0.01)}, {after}, {}).rows.front();
  CHECK(row.change == Change::kInconclusive);
  CHECK(mentions(row.reason, "--cache warm before and cold now"));
}

TEST_CASE("gate: other metrics are compared by value, in their own direction") {
  Record before = timed("a", 1.0, 0.01);
  Record after = timed("a", 1.0, 0.01);
  before.totals->bytes_read = 1000;
  after.totals->bytes_read = 1200;
  GateOptions options = with_threshold(0.05);
  options.metrics = {"bytes"};
  CHECK(one(before, after, options) == Change::kSlower);
  CHECK(one(after, before, options) == Change::kFaster);
  options.metrics = {"bytes_per_s"}; // more bytes in the same time is a higher rate
  CHECK(one(before, after, options) == Change::kFaster);
  CHECK(one(after, before, options) == Change::kSlower);
  options.metrics = {"time_medium_s"};
  CHECK(mentions(refusal_of([&] { cli::compare_records({before}, {after}, options); }), "time_median_s"));
  options.metrics = {"status"};
  CHECK(mentions(refusal_of([&] { cli::compare_records({before}, {after}, options); }), "no number"));
  options.metrics = {"bytes", "flops"};
  CHECK(mentions(refusal_of([&] { cli::compare_records({before}, {after}, options); }), "takes one column"));
  options.across_machines = true;
  options.metrics = {"time_median_s"};
  CHECK(mentions(refusal_of([&] { cli::compare_records({before}, {after}, options); }), "roof_fraction"));
}

TEST_CASE("gate: counts must be equal, more or fewer, and need no measurement") {
  Record before = timed("a", 1.0, 0.01);
  before.totals->work.macs = 100;
  before.totals->bytes_read = 1000;
  Record slow = before;
  slow.measured->time_median_s = 9.0;
  Record unmeasured = before;
  unmeasured.measured.reset();
  GateOptions options;
  options.kind = cli::GateKind::kCounts;
  CHECK(one(before, slow, options) == Change::kSame);
  CHECK(one(before, unmeasured, options) == Change::kSame);
  Record fewer = before;
  fewer.totals->bytes_read = 999;
  CHECK(one(before, fewer, options) == Change::kChanged);
  CHECK(exit_code({before}, {fewer}, options) == 3);
  const cli::RowChange row = cli::compare_records({before}, {fewer}, options).rows.front();
  CHECK(mentions(row.reason, "bytes 1000 -> 999"));
  CHECK(mentions(row.reason, "intensity"));
  CHECK_FALSE(mentions(row.reason, "flops"));
  options.metrics = {"flops", "params"};
  CHECK(one(before, fewer, options) == Change::kSame);
  Record cached = before;
  cached.totals->kv_cache_bytes = 7;
  CHECK(one(before, cached, options) == Change::kSame);
  options.metrics = {"kv_cache_bytes"};
  CHECK(one(before, cached, options) == Change::kChanged);
  options.metrics = {"time_median_s"};
  CHECK(mentions(refusal_of([&] { cli::check(options); }), "measured"));
  options.metrics.clear();
  options.threshold = 0.05;
  CHECK(mentions(refusal_of([&] { cli::check(options); }), "--threshold does not apply"));
  for (const char* name : {"flops", "bytes", "intensity", "params", "peak_activation_bytes", "launches"}) {
    CHECK(std::count(cli::default_counts().begin(), cli::default_counts().end(), name) == 1);
  }
}

TEST_CASE("BUG-188, BUG-189: a baseline of 0 has no ratio, a drop to 0 is -100 %") {
  Record before = timed("a", 1.0, 0.01);
  Record after = before;
  GateOptions options = with_threshold(0.05);
  options.metrics = {"bytes"};
  const auto table = [&](const Record& a, const Record& b) {
    const std::vector<Record> old{a};
    const std::vector<Record> now{b};
    return change_table(cli::compare_records(old, now, options), {"old", "new", old, now});
  };
  CHECK(mentions(table(before, after), "no change"));
  after.totals->bytes_read = 5;
  CHECK(mentions(table(before, after), "n/a (baseline 0)"));
  CHECK(one(before, after, options) == Change::kSlower);
  CHECK(change_json(cli::compare_records({before}, {after}, options))["rows"][0]["ratio"].is_null());
  before.totals->bytes_read = 3069448;
  after.totals->bytes_read = 0;
  CHECK(mentions(table(before, after), "-100.0 %"));
}

TEST_CASE("gate: the table names every row, counts the verdicts and says what is on one side only") {
  const std::vector<Record> before{timed("a", 1.0, 0.01), timed("b", 1.0, 0.01), timed("c", 1.0, 0.01)};
  const std::vector<Record> after{timed("a", 1.0, 0.01), timed("b", 1.8, 0.01), timed("d", 1.0, 0.01)};
  const std::string table = change_table(cli::compare_records(before, after, {}), {"old", "new", before, after});
  for (const char* text : {"+80.0 %", "SLOWER", "MISSING", "NEW", "2 matched rows", "1 SAME", "1 SLOWER",
                           "1 only in before (MISSING)", "1 only in after (NEW)", "threshold 5.0 %"}) {
    INFO(table);
    CHECK(table.find(text) != std::string::npos);
  }
}

TEST_CASE("gate: views for CI hold every row, escaped") {
  const std::string nasty = "a<b>&\"c\",d|e%\nf";
  const std::vector<Record> before{timed("x", 1.0, 0.01), timed(nasty, 1.0, 0.01), timed("gone", 1.0, 0.01)};
  const std::vector<Record> after{timed("x", 1.0, 0.01), timed(nasty, 1.8, 0.01), timed("added", 1.0, 0.01)};
  const GateOptions options;
  const cli::ComparedRuns runs{"old:1", "new,1", before, after};
  const cli::Comparison comparison = cli::compare_records(before, after, options);

  const std::string junit = change_junit(comparison, options);
  CHECK(mentions(junit, "tests=\"4\" failures=\"2\""));
  CHECK(mentions(junit, "name=\"a&lt;b&gt;&amp;&quot;c&quot;,d|e%&#10;f\""));
  CHECK(mentions(junit, "<property name=\"verdict\" value=\"SLOWER\"/>"));
  CHECK(mentions(junit, "<failure type=\"MISSING\""));

  const std::string lines = change_annotations(comparison, runs, options);
  CHECK(mentions(lines, "::error file=new%2C1,title=attnprof SLOWER::SLOWER: a<b>&\"c\",d|e%25%0Af: +80.0 %25"));
  CHECK(mentions(lines, "::error file=old%3A1,title=attnprof MISSING::MISSING: gone"));
  CHECK(mentions(lines, "::notice file=new%2C1,title=attnprof NEW::NEW: added"));
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 3);

  const std::string page = change_markdown(comparison, runs, options, {"roofline=https://host/a.svg"});
  CHECK(mentions(page, "### attnprof: the gate fails"));
  CHECK(mentions(page, "a&lt;b&gt;&amp;\"c\",d\\|e% f"));
  CHECK(mentions(page, "1 rows are the same"));
  CHECK(mentions(page, "[roofline](<https://host/a.svg>)"));
  CHECK_FALSE(mentions(page, "| batch |")); // the same in every row
}
