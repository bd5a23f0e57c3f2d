#include "cli/case_runner.hpp"
#include "operators/core/error.hpp"
#include "operators/exec/reference.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/cli_fakes.hpp"

#include <stdexcept>

using namespace attnprof;
using operators::Error;
using operators::ErrorKind;
using operators::Graph;
using profilers::Record;
using profilers::Status;

namespace {

/// What the made-up device does with a case.
struct Behaviour {
  std::optional<std::string> unsupported;
  std::int64_t memory_bytes = 1000;
  float offset = 0;       ///< added to every result
  bool breaks = false;    ///< run() throws
  bool refuses = false;   ///< prepare() throws bad_alloc
  double launch_s = 1e-3; ///< of each launch
  int threads = 0;        ///< that prepare() was asked for
};

class FakeProgram final : public operators::Program {
 public:
  FakeProgram(Graph launches, std::uint64_t seed, const Behaviour& behaviour, tests::FakeClock& clock)
      : launches_(std::move(launches)), behaviour_(behaviour), clock_(clock),
        results_(operators::run_reference(launches_, operators::reference_inputs(launches_, seed))) {
    for (const operators::Op& op : launches_.ops) {
      impls_.push_back(std::holds_alternative<operators::MatMul>(op.primitive) ? "library matmul" : "own loop");
    }
  }
  void run() override {
    if (behaviour_.breaks) {
      throw std::runtime_error("the device fell off the bus");
    }
    clock_.advance_s(behaviour_.launch_s * static_cast<double>(launches_.ops.size()));
  }
  void run_launch(std::size_t index) override { clock_.advance_s(index == 0 ? 1.0 : behaviour_.launch_s); }
  const std::vector<std::string>& kernel_impls() const override { return impls_; }
  void write(operators::TensorId, std::span<const float>) override {}
  std::vector<float> read(operators::TensorId tensor) const override {
    std::vector<float> out;
    for (const double value : results_.at(tensor)) {
      out.push_back(static_cast<float>(value) + behaviour_.offset);
    }
    return out;
  }
  std::optional<std::span<const std::byte>> memory(operators::TensorId) const override { return std::nullopt; }

 private:
  Graph launches_;
  const Behaviour& behaviour_;
  tests::FakeClock& clock_;
  operators::TensorValues results_;
  std::vector<std::string> impls_;
};

class FakeExecutor final : public operators::Executor {
 public:
  FakeExecutor(Behaviour& behaviour, tests::FakeClock& clock) : behaviour_(behaviour), clock_(clock) {}
  std::string name() const override { return "fake"; }
  std::optional<std::string> unsupported(const Graph&) const override { return behaviour_.unsupported; }
  operators::Count memory_bytes(const Graph&, const operators::ExecOptions&) const override {
    return behaviour_.memory_bytes;
  }
  std::unique_ptr<operators::Program> prepare(const Graph& launches,
                                              const operators::ExecOptions& options) const override {
    if (behaviour_.refuses) {
      throw std::bad_alloc();
    }
    behaviour_.threads = options.threads;
    return std::make_unique<FakeProgram>(launches, options.seed, behaviour_, clock_);
  }

 private:
  Behaviour& behaviour_;
  tests::FakeClock& clock_;
};

struct Bench {
  Behaviour behaviour;
  std::shared_ptr<tests::FakeClock> clock = std::make_shared<tests::FakeClock>();
  cli::Seams seams;
  profilers::Environment environment;
  cli::MeasuringRequest measuring;

  Bench() {
    environment.cores = 2;
    environment.memory_available_bytes = 1'000'000;
    seams.clock = clock;
    seams.host = std::make_shared<tests::FakeHost>(*clock);
    seams.interrupt = std::make_shared<cli::Interrupt>();
    seams.environment = [this] { return environment; };
    seams.counter_origin = [] { return std::string("unavailable: made up"); };
    seams.make_executor = [this](std::string_view device) -> std::unique_ptr<operators::Executor> {
      if (device != "cpu") {
        throw Error(ErrorKind::kUnavailable, "no such device here");
      }
      return std::make_unique<FakeExecutor>(behaviour, *clock);
    };
  }

  Record run(const std::string& id = "variant=mha:dim=8:heads=2:seq_len=4") {
    cli::CaseRunner runner(seams, measuring, nullptr);
    return runner.run(planned(id));
  }
  static cli::PlannedCase planned(const std::string& id) {
    cli::PlannedCase out;
    out.config = operators::resolve(operators::parse_case_id(id));
    out.id = operators::case_id(out.config);
    return out;
  }
};

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
  CHECK(*record.max_relative_error < 1e-6);
  CHECK(record.counter_origin == "unavailable: made up");
  CHECK(record.warnings.empty());
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
