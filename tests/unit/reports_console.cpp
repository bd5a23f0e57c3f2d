#include "reports/console.hpp"
#include "reports/derive.hpp"
#include "reports/launch_groups.hpp"
#include "reports/ranking.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reports_records.hpp"

using namespace attnprof;
using namespace attnprof::reports;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

profilers::Record derived(profilers::Record record) {
  derive(record, tests::round_roofs());
  return record;
}

/// A case with given FLOPs and time, ready to be ranked.
profilers::Record ranked(const std::string& variant, std::int64_t macs, double time_s) {
  profilers::Record record = tests::measured_record(variant);
  record.config.set("device", std::string("cpu"));
  record.totals->work = {macs, macs, 0, 0};
  record.measured->time_median_s = time_s;
  record.measured->time_ci_low_s = time_s * 0.99;
  record.measured->time_ci_high_s = time_s * 1.01;
  record.measured->stability = profilers::Stability::kStable;
  return record;
}

} // namespace

TEST_CASE("the cost table shows work, traffic, bound and the least time, with units and totals") {
  CHECK(cost_table(derived(tests::counted_record())) ==
        "scope    op       shape          MACs       FLOPs    bytes  FLOP/B  bound           at least\n"
        "scores   matmul   m4 n4 k4  1.00 MMAC  2.00 MFLOP   100 kB      20  compute          20.0 us\n"
        "softmax  softmax  m4 n4 k4      0 MAC  50.0 kFLOP  80.0 kB   0.625  transcendental   10.0 us\n"
        "merge    copy     m4 n4 k4      0 MAC      0 FLOP  2.00 MB       0  memory DRAM       100 us\n"
        "total                       1.00 MMAC  2.05 MFLOP  2.18 MB  0.9404  memory DRAM       130 us\n"
        "parameters 300, weights 1.20 kB, compulsory traffic 1.00 kB, peak activations 5.00 kB\n"
        "bytes: compulsory 1.00 kB, launches 2.18 MB (x2.18e+03)\n");
}

TEST_CASE("without ceilings the cost table has dashes, not zeros") {
  const std::string table = cost_table(tests::counted_record());
  CHECK_THAT(table, Contains("100 kB      20  -             -\n"));
}

TEST_CASE("the kernel table shows times, rates and the share of the roof") {
  const std::string table = kernel_table(derived(tests::measured_record()));
  CHECK_THAT(table,
             StartsWith("scope    op       shape     kernel       time   share        FLOP/s        B/s  FLOP/B  "
                        "bound           of roof\n"
                        "scores   matmul   m4 n4 k4  onednn    20.0 us  15.4 %   100 GFLOP/s  5.00 GB/s      20  "
                        "compute           100 %\n"));
  CHECK_THAT(table,
             Contains("140 us  +-1.4 %  3 samples  NOISY  14.6 GFLOP/s  15.6 GB/s  2.80 M tokens/s  92.9 % of roof"));
}

TEST_CASE("launches of equal blocks print as one") {
  profilers::Record record = tests::measured_record();
  std::vector<profilers::LaunchRecord> launches;
  for (int block = 0; block < 12; ++block) {
    for (profilers::LaunchRecord launch : record.launches) {
      launch.cost.scope = "block" + std::to_string(block) + "/mixer/" + launch.cost.scope;
      launches.push_back(launch);
    }
  }
  record.launches = launches;
  tests::add_totals(record);
  const auto groups = launch_groups(derived(record));
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].scope == "block*/mixer/scores");
  CHECK(groups[0].count == 12);
  CHECK(*groups[0].time_s == Catch::Approx(12 * 20e-6));
  CHECK(*groups[0].roof_time_s == Catch::Approx(12 * 20e-6));
  CHECK(groups[0].work.macs == 12'000'000);
  CHECK(groups[0].bound == "compute");
  CHECK_THAT(kernel_table(derived(record)), Contains("block*/mixer/scores") && Contains("x12"));
  record.launches[3].time_median_s = 1.0; // one of twelve was interrupted: it is most of the group's time
  CHECK(launch_groups(derived(record))[0].bound == "unexplained");
  record.launches[3].time_median_s.reset();
  CHECK_FALSE(launch_groups(record)[0].time_s);
}

TEST_CASE("block numbers are cut from the first part of a scope only") {
  CHECK(without_block_number("block12/mixer/scores") == "block*/mixer/scores");
  CHECK(without_block_number("scores2") == "scores2");
  CHECK(without_block_number("mixer/head0/scores") == "mixer/head0/scores");
  CHECK(without_block_number("12/scores") == "12/scores");
}

TEST_CASE("the result table names cases by what differs and lists those that did not run") {
  profilers::Record skipped = tests::counted_record("gqa");
  skipped.status = profilers::Status::kSkipped;
  skipped.reason = "needs 4.2 GB, and 1.0 GB is free";
  const std::string table = result_table({derived(tests::measured_record()), skipped});
  CHECK(
      table ==
      "case    time     +-        work        FLOP/s  FLOP/B  bound        of roof  status\n"
      "mha   140 us  1.4 %  2.05 MFLOP  14.6 GFLOP/s  0.9404  memory DRAM   92.9 %  ok NOISY\n"
      "gqa        -      -  2.05 MFLOP             -  0.9404  -                  -  skipped: needs 4.2 GB, and 1.0 GB "
      "is free\n");
}

TEST_CASE("short names leave out what follows from the rest") {
  std::vector<profilers::Record> records;
  for (const std::int64_t seq_len : {49, 196}) {
    for (const char* plan : {"eager", "fused"}) {
      profilers::Record record = tests::counted_record();
      record.config.set("seq_len", seq_len);
      record.config.set("grid", std::string(seq_len == 49 ? "7x7" : "14x14"));
      record.config.set("plan", std::string(plan));
      records.push_back(record);
    }
  }
  const auto names = short_names(records);
  CHECK(names[0] == "mha seq_len=49 eager");
  CHECK(names[3] == "mha seq_len=196 fused");
  records[1].config.set("causal", true);
  CHECK(short_names({records[0], records[1]})[1] == "mha causal");
  CHECK(short_names({tests::counted_record()})[0] == "mha");
  CHECK(short_name(tests::counted_record()) == "mha batch=2 seq_len=196 eager");
}

TEST_CASE("the verdict says what bounds what") {
  CHECK(verdict_sentence(derived(tests::measured_record())) ==
        "Memory bandwidth of DRAM bounds 77 % of the launch time of mha batch=2 seq_len=196 eager (copies); matrix "
        "products bound 15 %; "
        "exponentials bound 8 % (softmax); the case reaches 92.9 % of its roof.");
  CHECK_THAT(verdict_sentence(derived(tests::counted_record())),
             StartsWith("Memory bandwidth of DRAM bounds 77 % of the predicted time of mha"));
  CHECK_THAT(verdict_sentence(tests::measured_record()), Contains("unknown"));
  profilers::Record failed = tests::counted_record();
  failed.status = profilers::Status::kFailed;
  failed.reason = "std::bad_alloc";
  CHECK(verdict_sentence(failed) == "mha batch=2 seq_len=196 eager is failed: std::bad_alloc");
}

TEST_CASE("the verdict does not name a bound where no roof explains the time") {
  profilers::Record record = tests::measured_record();
  record.launches[2].time_median_s = 5e-3; // a fiftieth of its roof
  record.measured->time_median_s = 5.03e-3;
  const profilers::Record slow = derived(record);
  CHECK(verdict_sentence(slow) ==
        "No roof explains 99 % of the launch time of mha batch=2 seq_len=196 eager (copies); the case reaches 2.6 % of "
        "its roof: neither arithmetic nor memory explains its time.");
  CHECK_THAT(
      verdict_sentence({slow, slow, derived(tests::measured_record())}),
      StartsWith("No roof explains most of the launch time of 2 of 3 cases, in launches that reach less than 10 % "
                 "of theirs; memory bandwidth bounds that of 1 (DRAM 1)."));
  CHECK_THAT(result_line(slow), Contains("unexplained"));
}

TEST_CASE("without ceilings for its device the verdict says so") {
  profilers::Record record = tests::counted_record();
  record.config.set("device", std::string("cuda"));
  CHECK(verdict_sentence(record) ==
        "What bounds mha batch=2 seq_len=196 eager is unknown: no ceilings of a cuda device "
        "are known here (--hw names some).");
}

TEST_CASE("intervals print as what they say") {
  profilers::Record record = tests::measured_record();
  record.measured->time_ci_high_s = 2.8e-2;
  CHECK_THAT(result_line(derived(record)), Contains("140 us +->100 %,"));
  record.measured->time_ci_high_s.reset();
  CHECK_THAT(result_line(derived(record)), Contains("eager: 140 us, 14.6"));
  CHECK_THAT(kernel_table(derived(record)), Contains("140 us  3 samples") && !Contains("+-"));
}

TEST_CASE("several cases: bounds, FLOPs against time, and what is missing") {
  profilers::Record invalid = tests::counted_record("cga");
  invalid.status = profilers::Status::kInvalid;
  const std::vector<profilers::Record> records = {derived(ranked("mha", 4'000'000, 100e-6)),
                                                  derived(ranked("gqa", 2'000'000, 200e-6)),
                                                  derived(ranked("linear", 1'000'000, 50e-6)), invalid};
  CHECK(
      verdict_sentence(records) ==
      "Memory bandwidth bounds most of the launch time of 3 of 3 cases (DRAM 3). The median case reaches 130 % of its "
      "roof. Fewer FLOPs took less time in 2 of 3 pairs of equal layout, plan and shape; "
      "the clearest exception: gqa needs 50 % of the FLOPs of mha and takes 2.0 times as long. 1 of 4 cases without "
      "result: 1 invalid.");
  CHECK(verdict_sentence(std::vector<profilers::Record>{}) == "There are no cases.");
  CHECK(verdict_sentence({invalid, invalid}) == "2 of 2 cases without result: 2 invalid.");
}

TEST_CASE("BUG-198: only like is ranked with like") {
  auto one = ranked("mha", 4'000'000, 100e-6);
  auto other = ranked("gqa", 2'000'000, 200e-6);
  CHECK(flops_against_time({one, other}).pairs == 1);
  other.threads = 1;
  CHECK(flops_against_time({one, other}).pairs == 0);
  other.threads = 2;
  other.config.set("batch", std::int64_t{16});
  CHECK(flops_against_time({one, other}).pairs == 0);
  other.config.set("batch", std::int64_t{2});
  for (const char* name : {"layout", "plan", "grid", "dtype", "device"}) {
    auto unlike = other;
    unlike.config.set(name, std::string("else"));
    CHECK(flops_against_time({one, unlike}).pairs == 0);
  }
  auto unsteady = other;
  unsteady.measured->stability = profilers::Stability::kNoisy;
  CHECK(flops_against_time({one, unsteady}).pairs == 0);
  CHECK(flops_against_time({one, unsteady}).unsteady == 1);
  CHECK_THAT(verdict_sentence({derived(one), derived(unsteady)}),
             Contains("1 of 2 cases is too unsteady to be compared.") && !Contains("Fewer FLOPs"));
  CHECK_THAT(verdict_sentence({derived(one), derived(other), derived(unsteady)}),
             Contains("in 0 of 1 pairs of equal layout, plan and shape (1 of 3 cases is too unsteady"));
  other.measured->time_ci_low_s = 90e-6; // overlaps
  CHECK(flops_against_time({one, other}).pairs == 0);
}

TEST_CASE("a line of progress") {
  CHECK(result_line(derived(tests::measured_record())) ==
        "mha batch=2 seq_len=196 eager: 140 us +-1.4 %, 14.6 GFLOP/s, 92.9 % of roof, memory DRAM, ok NOISY");
  profilers::Record skipped = tests::counted_record();
  skipped.status = profilers::Status::kSkipped;
  skipped.reason = "time budget spent";
  CHECK(result_line(skipped) == "mha batch=2 seq_len=196 eager: skipped: time budget spent");
}

TEST_CASE("a near bound is marked and explained") {
  profilers::Record record = tests::counted_record();
  record.launches = {{tests::launch_cost("x", "matmul", 1'000'000, 0, 0, 360'000, 0, 2'000'000), "", {}}};
  tests::add_totals(record);
  const std::string table = cost_table(derived(record));
  CHECK_THAT(table, Contains("compute?") && Contains("? the next bound is within 20 %"));
}
