#include "cli/case_runner.hpp"
#include "operators/core/error.hpp"
#include "operators/exec/reference.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_perf.hpp"
#include "tests/unit/cli_case_bench.hpp"

#include <fmt/format.h>
#include <stdexcept>

using namespace attnprof;
using operators::Error;
using operators::ErrorKind;
using operators::Graph;
using profilers::Record;
using profilers::Status;
using Bench = tests::CaseBench;

namespace {

bool says(const Record& record, std::string_view part) {
  return record.reason.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("case runner: a case that runs has counts, times, kernels and a checked result") {
  Bench bench;
  const Record record = bench.run();
  INFO(record.reason);
  REQUIRE(record.status == Status::kOk);
  CHECK(record.reason.empty());
  REQUIRE(record.measured);
  const double body_s = bench.behaviour.launch_s * static_cast<double>(record.launches.size());
  CHECK(*record.measured->time_median_s == Catch::Approx(body_s).epsilon(0.01));
  CHECK(record.totals->launches == static_cast<std::int64_t>(record.launches.size()));
  CHECK(*record.launches[0].time_median_s == Catch::Approx(1.0).epsilon(0.01));
  CHECK(*record.launches[1].time_median_s == Catch::Approx(1e-3).epsilon(0.01));
  CHECK(record.launches[0].kernel_impl == "library matmul");
  CHECK(record.kernel_impl == "library matmul; own loop"); // most time first
  CHECK(record.threads == 2);
  CHECK(record.processors == "1,0");
  CHECK(record.verified_by == "reference");
  CHECK(*record.max_relative_error < 1e-6);
  CHECK(record.counter_origin ==
        "unavailable: this program has none; counted: fp_ops in closed form from the launches");
  CHECK(record.warnings.empty());
}

TEST_CASE("case runner: a case that the ceilings put far over the timeout is skipped before it is prepared") {
  Bench bench;
  profilers::Machine machine;
  machine.environment.cores = 2;
  for (const int threads : {1, 2}) {
    machine.compute.push_back({"fma", "f32", "avx2", threads, 1e3, 0, 0}); // 1000 FLOP/s
    machine.compute.push_back({"fma_add", "f32", "avx2", threads, 1e3, 0, 0});
    machine.compute.push_back({"exp", "f32", "avx2", threads, 1e3, 0, 0});
    machine.bandwidth.push_back({"DRAM", "read", threads, 1e9, 0, 0, 0});
    machine.levels.push_back({"DRAM", threads, {}, "curve"});
  }
  const auto planned = Bench::planned("variant=mha:dim=64:heads=2:seq_len=16");
  cli::CaseRunner runner(bench.seams, bench.measuring, &machine);
  const Record record = runner.run(planned);
  CHECK(record.status == Status::kSkipped);
  CHECK(says(record, "at least"));
  CHECK(says(record, "timeout of 5.00 s"));
  CHECK(says(record, "--timeout"));
  CHECK(record.roof.roof_time_s);
  CHECK(bench.behaviour.prepared == 0);
  CHECK(record.totals);
  bench.measuring.timing.timeout_s = 1e6;
  cli::CaseRunner patient(bench.seams, bench.measuring, &machine);
  CHECK(patient.run(planned).status == Status::kOk);
}

TEST_CASE("case runner: a first run that goes far over the timeout is left between two launches") {
  Bench bench;
  bench.behaviour.launch_s = 4;
  const double before_s = bench.clock->elapsed_s();
  const Record record = bench.run();
  CHECK(record.status == Status::kSkipped);
  CHECK(says(record, "launches of its first run took 9.00 s"));
  CHECK(says(record, "--timeout"));
  CHECK_FALSE(record.measured);
  // Verification runs a case of this size once before, as a whole.
  const double verified_s = 4.0 * static_cast<double>(record.launches.size());
  CHECK(bench.clock->elapsed_s() - before_s - verified_s < 10);
}

TEST_CASE("case runner: first run, warm-up, samples and launch pass share the timeout") {
  Bench bench;
  bench.behaviour.first_launch_s = 0.1;
  const auto spent_by = [&](double launch_s, Record& record) {
    bench.behaviour.launch_s = launch_s;
    const double before_s = bench.clock->elapsed_s();
    record = bench.run();
    REQUIRE(record.measured);
    const double run_s = launch_s * static_cast<double>(record.launches.size());
    return bench.clock->elapsed_s() - before_s - run_s; // without the run of the verification
  };
  Record record;
  CHECK(spent_by(0.01, record) < 5.5);
  CHECK(record.launches[1].time_median_s);
  const double n = static_cast<double>(record.launches.size());
  CHECK(spent_by(1.0 / n, record) < 6.1); // a sample may end a run's length later
  CHECK(record.launches[1].time_median_s);
  CHECK(record.measured->warmup_runs == 1); // there was no time for another

  CHECK(spent_by(4.0 / n, record) < 9); // the first run, and one sample
  CHECK(record.measured->samples_s.size() == 1);
  CHECK_FALSE(record.launches[1].time_median_s);
  REQUIRE_FALSE(record.warnings.empty());
  CHECK(record.warnings.back().find("no time for the pass over single launches") != std::string::npos);
}

TEST_CASE("case runner: a share of a sweep's time is kept, and the row says so") {
  Bench bench;
  bench.behaviour.first_launch_s = 1e-3;
  bench.measuring.timing.max_noise = 1e-12;
  bench.measuring.timing.min_time_s = 100;
  bench.share_s = 1.0;
  const double before_s = bench.clock->elapsed_s();
  const Record record = bench.run();
  REQUIRE(record.status == Status::kOk);
  CHECK(bench.clock->elapsed_s() - before_s < 1.2);
  REQUIRE(record.warnings.size() == 1);
  CHECK(record.warnings[0].find("share of the sweep's time") != std::string::npos);
  bench.share_s = 0.0; // preparation took it all: still a row, with few samples
  const Record late = bench.run();
  CHECK(late.status == Status::kOk);
  CHECK_FALSE(late.measured->samples_s.empty());
}

TEST_CASE("case runner: a case too large for the reference is checked by a smaller twin, and says which") {
  Bench bench;
  bench.measuring.check_limits.macs = 2000;
  const std::string large = "variant=mha:batch=2:dim=8:heads=2:seq_len=16";
  Record record = bench.run(large);
  REQUIRE(record.status == Status::kOk);
  CHECK(record.verified_by.starts_with("twin "));
  CHECK(record.verified_by.find("batch=1") != std::string::npos);
  CHECK(*record.max_relative_error < 1e-6);
  CHECK(bench.behaviour.prepared == 2);

  bench.behaviour.offset = 0.01F;
  record = bench.run(large);
  CHECK(record.status == Status::kIncorrect);
  CHECK(says(record, "smaller twin"));

  bench.behaviour.offset = 0;
  bench.measuring.check_limits.macs = 1; // no twin is as small as that
  record = bench.run(large);
  REQUIRE(record.status == Status::kOk);
  CHECK(record.verified_by.empty());
  CHECK_FALSE(record.max_relative_error);
  REQUIRE(record.warnings.size() == 1);
  CHECK(record.warnings[0].find("not checked") != std::string::npos);
}

TEST_CASE("case runner: threads are those of the case, and more than there are cores is said") {
  Bench bench;
  CHECK(bench.run("variant=mha:dim=8:heads=2:seq_len=4:threads=1").threads == 1);
  CHECK(bench.behaviour.threads == 1);
  const Record record = bench.run("variant=mha:dim=8:heads=2:seq_len=4:threads=3");
  CHECK(bench.behaviour.threads == 3);
  REQUIRE(record.warnings.size() == 1);
  CHECK(record.warnings[0].find("3 threads share the 2 cores") != std::string::npos);
}

TEST_CASE("case runner: a wrong result is not measured") {
  Bench bench;
  bench.behaviour.offset = 0.01F;
  const Record record = bench.run();
  CHECK(record.status == Status::kIncorrect);
  CHECK(says(record, "float64 reference"));
  CHECK(*record.max_relative_error > 1e-3);
  CHECK_FALSE(record.measured);
  CHECK(record.totals);
  bench.behaviour.offset = std::numeric_limits<float>::quiet_NaN();
  CHECK(bench.run().status == Status::kIncorrect);
}

TEST_CASE("case runner: what does not fit is skipped with both figures, before it is prepared (BUG-171)") {
  Bench bench;
  bench.behaviour.memory_bytes = 2'000'000;
  bench.behaviour.refuses = true; // preparing would fail
  const Record record = bench.run();
  CHECK(record.status == Status::kSkipped);
  CHECK(says(record, "memory"));
  CHECK(says(record, "2000000 bytes"));
  CHECK(says(record, "1000000 bytes"));
  bench.behaviour.memory_bytes = 950'000; // a tenth is left alone
  CHECK(bench.run().status == Status::kSkipped);
  bench.environment.memory_available_bytes.reset(); // not known: it is tried
  CHECK(bench.run().status == Status::kFailed);
}

TEST_CASE("case runner: a refusal, a crash of the device and a lack of memory are told apart (BUG-199)") {
  Bench bench;
  bench.behaviour.unsupported = "f16 is not possible here";
  Record record = bench.run();
  CHECK(record.status == Status::kUnsupported);
  CHECK(record.reason == "f16 is not possible here");

  bench.behaviour.unsupported.reset();
  bench.behaviour.breaks = true;
  record = bench.run();
  CHECK(record.status == Status::kFailed);
  CHECK(says(record, "fell off the bus"));
  CHECK_FALSE(record.measured);
  CHECK(record.totals);

  bench.behaviour.breaks = false;
  bench.behaviour.refuses = true;
  record = bench.run();
  CHECK(record.status == Status::kFailed);
  CHECK(says(record, "refused memory"));

  record = bench.run("variant=mha:dim=8:heads=2:seq_len=4:device=cuda");
  CHECK(record.status == Status::kUnsupported);
  CHECK(says(record, "no such device"));
}

TEST_CASE("case runner: counts that do not fit make an invalid row") {
  Bench bench;
  const Record record = bench.run("variant=mha:batch=1000000:seq_len=4000000000:dim=8192:heads=64");
  CHECK(record.status == Status::kInvalid);
  CHECK_FALSE(record.totals);
  cli::PlannedCase rejected = Bench::planned("variant=mha:dim=8:heads=2");
  rejected.rejection = "it cannot be";
  cli::CaseRunner runner(bench.seams, bench.measuring, nullptr);
  CHECK(runner.run(rejected).status == Status::kInvalid);
}

TEST_CASE("case runner: an interrupted case is skipped, without half a measurement (BUG-167)") {
  Bench bench;
  bench.seams.interrupt->requested = true;
  const Record record = bench.run();
  CHECK(record.status == Status::kSkipped);
  CHECK(record.reason == cli::kInterruptedReason);
  CHECK_FALSE(record.measured);
}

TEST_CASE("case runner: cold policies that need host memory are refused on a device without any") {
  Bench bench;
  bench.measuring.cache_policy = profilers::CachePolicy::kColdWeights;
  const Record record = bench.run();
  CHECK(record.status == Status::kUnsupported);
  CHECK(says(record, "--cache cold-weights"));
}

TEST_CASE("case runner: a plan whose every device is absent is refused as a whole") {
  Bench bench;
  cli::SweepPlan plan;
  plan.cases = {Bench::planned("variant=mha:dim=8:heads=2:device=cuda")};
  try {
    cli::require_a_device(plan, bench.seams);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUnavailable);
  }
  plan.cases.push_back(Bench::planned("variant=mha:dim=8:heads=2"));
  CHECK_NOTHROW(cli::require_a_device(plan, bench.seams)); // the other rows say why they are unsupported
}

namespace {

/// A PMU that counts cycles and instructions, and whose loops of known work agree.
struct WithCounters : Bench {
  using Key = tests::FakePerf::Key;
  const Key cycles{0, 0};
  const Key instructions{0, 1};
  std::shared_ptr<tests::FakePerf> perf = std::make_shared<tests::FakePerf>();
  std::unique_ptr<profilers::Counters> counters;
  std::size_t runs = 0;
  std::size_t runs_with_open_files = 0;

  WithCounters() {
    const auto loop = [this](Key key) { return [this, key] { perf->advance(0, {{key, 1e6}}, 1e6); }; };
    counters = std::make_unique<profilers::Counters>(
        perf, profilers::CounterHost{},
        std::vector<profilers::CheckKernel>{
            {profilers::CounterQuantity::kCycles, "cycles", 1e6, {}, loop(cycles)},
            {profilers::CounterQuantity::kInstructions, "instructions", 1e6, {}, loop(instructions)}});
    seams.counters = [this]() -> profilers::Counters& { return *counters; };
    behaviour.first_launch_s = 1e-3;
    behaviour.on_run = [this] {
      ++runs;
      runs_with_open_files += perf->open_files() > 0 ? 1 : 0;
      perf->advance(10, {{cycles, 5000}, {instructions, 9000}}, 1e4);
      perf->advance(11, {{cycles, 3000}, {instructions, 1000}}, 1e4);
    };
  }
};

} // namespace

TEST_CASE("case runner: where a PMU answers, the columns are filled by a pass of its own (BUG-133, BUG-134)") {
  WithCounters bench;
  const Record with = bench.run();
  REQUIRE(with.status == Status::kOk);
  CHECK(with.measured->counters.cycles == 8000);
  CHECK(with.measured->counters.instructions == 10'000);
  CHECK(with.counter_origin.starts_with("counter: cycles, instructions"));
  CHECK(with.counter_origin.find("fp_ops: unknown event") != std::string::npos);
  // The files are open in the last runs alone: no sample is taken with counters on.
  CHECK(bench.runs_with_open_files > 0);
  CHECK(bench.runs_with_open_files < bench.runs / 2);
  CHECK(bench.perf->open_files() == 0);

  const std::size_t opens = bench.perf->opens;
  bench.measuring.counters = cli::CounterUse::kOff;
  const Record without = bench.run();
  CHECK(bench.perf->opens == opens); // BUG-131: off means off
  CHECK(without.counter_origin == "off: --counters off");
  CHECK_FALSE(without.measured->counters.cycles);
  CHECK(*without.measured->time_median_s == Catch::Approx(*with.measured->time_median_s).epsilon(1e-3));
}

TEST_CASE("case runner: counters that are refused cost nothing, unless they are required (BUG-121)") {
  WithCounters bench;
  bench.perf->refuses_all = EACCES;
  const Record record = bench.run();
  CHECK(record.status == Status::kOk);
  CHECK(record.counter_origin.starts_with("unavailable: cycles"));
  CHECK(bench.runs_with_open_files == 0);
  bench.measuring.counters = cli::CounterUse::kRequired;
  const int prepared = bench.behaviour.prepared;
  try {
    static_cast<void>(bench.run());
    FAIL("it was measured");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUnavailable);
    CHECK(std::string(error.what()).find("Permission denied") != std::string::npos);
  }
  CHECK(bench.behaviour.prepared == prepared);
}

TEST_CASE("case runner: without a PMU the row has modelled bytes and counted FLOPs, and says so") {
  WithCounters bench;
  bench.perf->refuses_all = ENOENT;
  bench.environment.caches = {{1, "data", 1024, 64, 1, 2}, {2, "unified", 1 << 20, 64, 2, 1}};
  const Record record = bench.run();
  REQUIRE(record.status == Status::kOk);
  REQUIRE(record.measured);
  CHECK(record.measured->counters.fp_ops == record.totals->work.flops().value());
  CHECK(record.measured->counters.fp_ops_are_counted);
  CHECK(record.counter_origin.find("unavailable: cycles") != std::string::npos);
  CHECK(record.counter_origin.find("model: modelled_* by least recent use in caches of 2 x 1 KiB L1, 1 MiB L2") !=
        std::string::npos);
  CHECK(record.counter_origin.find("counted: fp_ops in closed form") != std::string::npos);
  for (const profilers::LaunchRecord& launch : record.launches) {
    REQUIRE(launch.traffic.l2_bytes);
    CHECK(launch.traffic.dram_bytes == 0); // warm, and all of it fits
    CHECK_FALSE(launch.traffic.l3_bytes);
  }
}

TEST_CASE("case runner: valgrind's counts are those of one warm run on one thread, launch by launch") {
  WithCounters bench;
  bench.measuring.counters = cli::CounterUse::kValgrind;
  CHECK_THROWS_WITH(bench.run(), Catch::Contains("valgrind is not on the search path"));
  std::string asked;
  std::size_t launches = 0;
  bench.seams.simulate = [&](const std::string& id, std::uint64_t, const profilers::SimulatedCaches& caches, double) {
    asked = id;
    CHECK(caches.first.bytes == 32 << 10);
    profilers::Simulation out;
    out.launches.resize(launches, {1000, 30, 2, 128});
    return out;
  };
  launches = cli::cost_case(Bench::planned("variant=mha:dim=8:heads=2:seq_len=4")).launches.ops.size();
  const Record record = bench.run();
  CHECK(asked.find("threads=1") != std::string::npos);
  CHECK(record.launches.back().simulated.l1_misses == 30);
  CHECK(record.measured->counters.instructions == 1000 * static_cast<std::int64_t>(launches));
  CHECK(record.measured->counters.dram_bytes == 128 * static_cast<std::int64_t>(launches));
  CHECK_FALSE(record.measured->counters.cycles);
  CHECK(record.counter_origin.starts_with("simulated: instructions, l1_misses, llc_misses by valgrind"));
  CHECK(bench.perf->opens == 0);
  --launches; // one got lost
  const Record broken = bench.run();
  CHECK(broken.status == Status::kOk);
  CHECK_FALSE(broken.measured->counters.instructions);
  CHECK(broken.counter_origin.starts_with("unavailable: valgrind: launches are missing"));
}

TEST_CASE("case runner: a plan is held against the reference of its own case, whatever was checked before") {
  Bench bench;
  cli::CaseRunner runner(bench.seams, bench.measuring, nullptr);
  const auto run = [&](const char* id) { return runner.run(Bench::planned(id)); };
  for (const char* sizes : {"seq_len=4", "seq_len=6", "seq_len=4:causal=true"}) {
    for (const char* plan : {"eager", "fused"}) {
      const Record record = run(fmt::format("variant=mha:dim=8:heads=2:{}:plan={}", sizes, plan).c_str());
      INFO(record.id << " " << record.reason);
      CHECK(record.status == Status::kOk);
      CHECK(record.verified_by == "reference");
      CHECK(*record.max_relative_error < 1e-6);
    }
  }
  bench.behaviour.offset = 1.0F; // the second plan is wrong where the first was right
  CHECK(run("variant=mha:dim=8:heads=2:seq_len=4:causal=true:plan=fused").status == Status::kIncorrect);
}
