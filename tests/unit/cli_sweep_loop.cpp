#include "cli/rows.hpp"
#include "cli/sweep_loop.hpp"
#include "operators/core/error.hpp"
#include "operators/workload.hpp"
#include "reports/record_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/cli_fakes.hpp"

#include <csignal>
#include <sstream>

using namespace attnprof;
using cli::PlannedCase;
using profilers::Record;
using profilers::Status;

namespace {

/// A sweep over made-up files, clock and measurements.
struct LoopBench {
  std::shared_ptr<tests::FakeFolders> files = std::make_shared<tests::FakeFolders>();
  std::shared_ptr<tests::FakeClock> clock = std::make_shared<tests::FakeClock>(0);
  cli::Seams seams;
  std::ostringstream out;
  std::ostringstream err;
  std::vector<std::string> measured;         ///< ids, in order
  std::vector<std::optional<double>> shares; ///< that were given to them
  std::map<std::string, Status> outcomes;

  LoopBench() {
    seams.files = files;
    seams.clock = clock;
    seams.interrupt = std::make_shared<cli::Interrupt>();
  }

  std::vector<Record> sweep(const cli::SweepPlan& plan, const cli::SweepSettings& settings = {}) {
    cli::RunFolder folder = cli::open_run_folder(*files, "out", true);
    cli::Context context{out, err, seams};
    const cli::MeasureCase measure = [this](const PlannedCase& planned, std::optional<double> share_s) {
      measured.push_back(planned.id);
      shares.push_back(share_s);
      clock->advance_s(10);
      const auto outcome = outcomes.find(planned.id);
      const Status status = outcome == outcomes.end() ? Status::kOk : outcome->second;
      return cli::rejected_record(planned, status, status == Status::kOk ? "" : "as the test wants");
    };
    return run_sweep(plan, folder, settings, measure, context);
  }

  std::vector<std::string> lines() const {
    std::istringstream stream(files->contents.at("out/records.jsonl"));
    std::vector<std::string> all;
    for (std::string line; std::getline(stream, line);) {
      all.push_back(line);
    }
    return all;
  }
};

cli::SweepPlan plan_of(const std::vector<std::string>& ids) {
  cli::SweepPlan plan;
  for (const std::string& id : ids) {
    PlannedCase one;
    one.id = id;
    one.config.set("variant", id);
    plan.cases.push_back(one);
  }
  return plan;
}

std::vector<Status> statuses(const std::vector<Record>& records) {
  std::vector<Status> out;
  for (const Record& record : records) {
    out.push_back(record.status);
  }
  return out;
}

using Texts = std::vector<std::string>;
using Statuses = std::vector<Status>;

} // namespace

TEST_CASE("sweep loop: every planned case becomes one line, in the order of the plan (R3)") {
  LoopBench bench;
  cli::SweepPlan plan = plan_of({"a", "b", "c"});
  plan.cases[1].rejection = "b cannot be";
  bench.outcomes["c"] = Status::kFailed;
  const std::vector<Record> records = bench.sweep(plan);
  CHECK(statuses(records) == Statuses{Status::kOk, Status::kInvalid, Status::kFailed});
  CHECK(records[1].reason == "b cannot be");
  CHECK(bench.measured == Texts{"a", "c"});
  REQUIRE(bench.lines().size() == 3);
  CHECK(reports::record_from_line(bench.lines()[2]).id == "c");
}

TEST_CASE("sweep loop: a line is in the file before the next case begins (BUG-166)") {
  LoopBench bench;
  const cli::SweepPlan plan = plan_of({"a", "b"});
  cli::RunFolder folder = cli::open_run_folder(*bench.files, "out", false);
  cli::Context context{bench.out, bench.err, bench.seams};
  std::vector<std::size_t> lines_before;
  const cli::MeasureCase measure = [&](const PlannedCase& planned, std::optional<double>) {
    lines_before.push_back(bench.lines().size());
    return cli::rejected_record(planned, Status::kOk, "");
  };
  run_sweep(plan, folder, {}, measure, context);
  CHECK(lines_before == std::vector<std::size_t>{0, 1});
}

TEST_CASE("sweep loop: resuming runs what is missing and leaves the rest byte for byte (BUG-165)") {
  LoopBench bench;
  bench.outcomes["b"] = Status::kFailed;
  bench.sweep(plan_of({"a", "b"}));
  const Texts before = bench.lines();
  bench.measured.clear();
  const std::vector<Record> records = bench.sweep(plan_of({"a", "b", "c"}));
  CHECK(bench.measured == Texts{"c"}); // a failed row is final: it would fail again
  CHECK(statuses(records) == Statuses{Status::kOk, Status::kFailed, Status::kOk});
  Texts kept = bench.lines();
  REQUIRE(kept.size() == 3);
  kept.pop_back();
  CHECK(kept == before);
  CHECK(bench.err.str().find("2 of 3 rows are already there") != std::string::npos);
  CHECK(bench.err.str().find("other cases") == std::string::npos);
}

TEST_CASE("sweep loop: rows of cases that the resumed sweep does not have stay, and it says how many") {
  LoopBench bench;
  bench.sweep(plan_of({"a", "b"}));
  bench.err.str("");
  CHECK(bench.sweep(plan_of({"b", "b:threads=1"})).size() == 2);
  CHECK(bench.lines().size() == 3);
  CHECK(bench.err.str().find("1 of 2 rows are already there; 1 row of other cases stays beside them, as of 'a'") !=
        std::string::npos);
}

TEST_CASE("sweep loop: an interrupt skips the rest, which resuming runs (BUG-167)") {
  LoopBench bench;
  bench.seams.interrupt->requested = true;
  bench.seams.interrupt->signal = SIGINT;
  CHECK(statuses(bench.sweep(plan_of({"a", "b"}))) == Statuses{Status::kSkipped, Status::kSkipped});
  CHECK(bench.measured.empty());
  bench.seams.interrupt->requested = false;
  CHECK(statuses(bench.sweep(plan_of({"a", "b"}))) == Statuses{Status::kOk, Status::kOk});
}

TEST_CASE("sweep loop: no case begins after the budget") {
  LoopBench bench;
  cli::SweepSettings settings;
  settings.budget_s = 15; // each case takes 10
  const std::vector<Record> records = bench.sweep(plan_of({"a", "b", "c", "d"}), settings);
  CHECK(statuses(records) == Statuses{Status::kOk, Status::kOk, Status::kSkipped, Status::kSkipped});
  CHECK(records[2].reason.find("budget") != std::string::npos);
  CHECK_FALSE(cli::is_final(records[2]));
  CHECK(cli::is_for_lack_of_time(records[2]));
  CHECK(cli::rows_exit_code({records[2]}, *bench.seams.interrupt) == 0); // as it was asked for
  Record memory = records[2];
  memory.reason = "needs more memory than there is";
  CHECK(cli::is_final(memory));
}

TEST_CASE("sweep loop: a shared time is dealt out anew before each case, and none is skipped") {
  LoopBench bench;
  cli::SweepSettings settings;
  settings.shared_s = 32; // each case takes 10
  const std::vector<Record> records = bench.sweep(plan_of({"a", "b", "c", "d"}), settings);
  CHECK(statuses(records) == Statuses(4, Status::kOk));
  REQUIRE(bench.shares.size() == 4);
  CHECK(*bench.shares[0] == Catch::Approx(8));
  CHECK(*bench.shares[1] == Catch::Approx(22.0 / 3));
  CHECK(*bench.shares[3] == Catch::Approx(2));
  LoopBench alone;
  alone.sweep(plan_of({"a"}));
  CHECK_FALSE(alone.shares.at(0));
}

TEST_CASE("sweep loop: --keep-going=false stops after a row that failed") {
  LoopBench bench;
  bench.outcomes["a"] = Status::kIncorrect;
  CHECK(statuses(bench.sweep(plan_of({"a", "b"}))) == Statuses{Status::kIncorrect, Status::kOk});
  LoopBench strict;
  strict.outcomes["a"] = Status::kIncorrect;
  cli::SweepSettings settings;
  settings.keep_going = false;
  CHECK(statuses(strict.sweep(plan_of({"a", "b"}), settings)) == Statuses{Status::kIncorrect, Status::kSkipped});
}

TEST_CASE("sweep loop: a process of its own turns crashes and hangs into failed rows") {
  LoopBench bench;
  cli::PlanRequest request;
  request.ids = {operators::parse_case_id("variant=mha:dim=16:heads=2:seq_len=8")};
  const PlannedCase planned = cli::plan_sweep(request).cases.at(0);
  cli::ChildResult child;
  Texts args;
  bench.seams.run_self = [&](const Texts& given, double) {
    args = given;
    return child;
  };
  const auto measure = [&] { return cli::measure_isolated(planned, {"--seed=3"}, 7.0, bench.seams); };

  child.exit_code = 128 + SIGSEGV;
  Record record = measure();
  CHECK(args == Texts{"run", planned.id, "--json", "--seed=3"});
  CHECK(record.status == Status::kFailed);
  CHECK(record.reason.find("signal 11") != std::string::npos);
  CHECK(record.totals); // counted all the same

  child = {};
  child.timed_out = true;
  child.exit_code = 128 + SIGKILL;
  CHECK(measure().reason.find("7.00 s") != std::string::npos);

  child = {};
  child.exit_code = 1;
  CHECK(measure().reason.find("exit code 1") != std::string::npos);

  child = {};
  child.exit_code = 4; // a failed row, but a row
  child.out = reports::json_text(reports::cases_document({cli::rejected_record(planned, Status::kFailed, "it broke")}));
  record = measure();
  CHECK(record.status == Status::kFailed);
  CHECK(record.reason == "it broke");

  child.out =
      reports::json_text(reports::cases_document({cli::rejected_record(plan_of({"other"}).cases[0], Status::kOk, "")}));
  CHECK(measure().reason.find("no record") != std::string::npos);
  CHECK(measure().reason.find("not that of this case") != std::string::npos);

  child = {};
  child.out = "{\"schema_version\": 1, \"cases\": [";
  CHECK(measure().reason.find("no valid JSON") != std::string::npos); // what was wrong is kept
  child.out.clear();
  CHECK(measure().reason.find("printed nothing") != std::string::npos);

  child = {};
  bench.seams.interrupt->requested = true;
  CHECK(measure().status == Status::kSkipped);
}

TEST_CASE("sweep loop: the time of writing records is told from that of measuring") {
  LoopBench bench;
  bench.clock = std::make_shared<tests::FakeClock>(1'000'000); // each read takes a millisecond
  bench.seams.clock = bench.clock;
  profilers::PhaseClock phases(*bench.clock);
  cli::SweepSettings settings;
  settings.phases = &phases;
  bench.sweep(plan_of({"a", "b", "c"}), settings);
  CHECK(phases.time_s(profilers::Phase::kRecords) == Catch::Approx(3e-3)); // leaving the phase three times
  CHECK(phases.time_s(profilers::Phase::kOther) > 30);
}
