// A case runner whose device is made up: how long launches take, what they compute, and how they fail.
#pragma once
#include "cli/case_runner.hpp"
#include "operators/core/error.hpp"
#include "operators/exec/reference.hpp"
#include "operators/workload.hpp"
#include "tests/unit/cli_fakes.hpp"

#include <new>
#include <stdexcept>

namespace attnprof::tests {

/// What the made-up device does with a case.
struct Behaviour {
  std::optional<std::string> unsupported;
  std::int64_t memory_bytes = 1000;
  float offset = 0;       ///< added to every result
  bool breaks = false;    ///< run() throws
  bool refuses = false;   ///< prepare() throws bad_alloc
  double launch_s = 1e-3; ///< of each launch
  double first_launch_s = 1.0;
  int threads = 0;  ///< that prepare() was asked for
  int prepared = 0; ///< programs
  std::function<void()> on_run;
};

class FakeProgram final : public operators::Program {
 public:
  FakeProgram(operators::Graph launches, std::uint64_t seed, const Behaviour& behaviour, FakeClock& clock)
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
    if (behaviour_.on_run) {
      behaviour_.on_run();
    }
  }
  void run_launch(std::size_t index) override {
    clock_.advance_s(index == 0 ? behaviour_.first_launch_s : behaviour_.launch_s);
  }
  std::vector<int> processors() const override { return {1, 0}; }
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
  operators::Graph launches_;
  const Behaviour& behaviour_;
  FakeClock& clock_;
  operators::TensorValues results_;
  std::vector<std::string> impls_;
};

class FakeExecutor final : public operators::Executor {
 public:
  FakeExecutor(Behaviour& behaviour, FakeClock& clock) : behaviour_(behaviour), clock_(clock) {}
  std::string name() const override { return "fake"; }
  std::optional<std::string> unsupported(const operators::Graph&) const override { return behaviour_.unsupported; }
  operators::Count memory_bytes(const operators::Graph&, const operators::ExecOptions&) const override {
    return behaviour_.memory_bytes;
  }
  std::unique_ptr<operators::Program> prepare(const operators::Graph& launches,
                                              const operators::ExecOptions& options) const override {
    if (behaviour_.refuses) {
      throw std::bad_alloc();
    }
    behaviour_.threads = options.threads;
    ++behaviour_.prepared;
    return std::make_unique<FakeProgram>(launches, options.seed, behaviour_, clock_);
  }

 private:
  Behaviour& behaviour_;
  FakeClock& clock_;
};

struct CaseBench {
  Behaviour behaviour;
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  cli::Seams seams;
  profilers::Environment environment;
  cli::MeasuringRequest measuring;

  CaseBench() {
    environment.cores = 2;
    environment.memory_available_bytes = 1'000'000;
    seams.clock = clock;
    seams.host = std::make_shared<FakeHost>(*clock);
    seams.interrupt = std::make_shared<cli::Interrupt>();
    seams.environment = [this] { return environment; };
    seams.make_executor = [this](std::string_view device) -> std::unique_ptr<operators::Executor> {
      if (device != "cpu") {
        throw operators::Error(operators::ErrorKind::kUnavailable, "no such device here");
      }
      return std::make_unique<FakeExecutor>(behaviour, *clock);
    };
  }

  profilers::Record run(const std::string& id = "variant=mha:dim=8:heads=2:seq_len=4") {
    cli::CaseRunner runner(seams, measuring, nullptr);
    return runner.run(planned(id), share_s);
  }
  std::optional<double> share_s;
  static cli::PlannedCase planned(const std::string& id) {
    cli::PlannedCase out;
    out.config = operators::resolve(operators::parse_case_id(id));
    out.id = operators::case_id(out.config);
    return out;
  }
};

} // namespace attnprof::tests
