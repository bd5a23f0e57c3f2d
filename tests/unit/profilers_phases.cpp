#include "profilers/phases.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/cli_case_bench.hpp"

#include <set>
#include <string_view>

using namespace attnprof;
using profilers::Phase;
using profilers::PhaseClock;

namespace {

double sum_of(PhaseClock& phases) {
  double out = 0;
  for (std::size_t i = 0; i < profilers::kPhases; ++i) {
    out += phases.time_s(static_cast<Phase>(i));
  }
  return out;
}

} // namespace

TEST_CASE("phases: time counts for the innermost scope, and the outer ones go on afterwards") {
  tests::FakeClock clock(0);
  PhaseClock phases(clock);
  clock.advance_s(1);
  {
    const PhaseClock::Scope outer(&phases, Phase::kVerification);
    clock.advance_s(2);
    {
      const PhaseClock::Scope inner(&phases, Phase::kBuffers);
      clock.advance_s(4);
    }
    clock.advance_s(8);
  }
  clock.advance_s(16);
  CHECK(phases.time_s(Phase::kVerification) == Catch::Approx(10));
  CHECK(phases.time_s(Phase::kBuffers) == Catch::Approx(4));
  CHECK(phases.time_s(Phase::kOther) == Catch::Approx(17));
  CHECK(phases.time_s(Phase::kSamples) == 0);
  CHECK(phases.total_s() == Catch::Approx(31));
  CHECK(phases.measuring_share() == 0);
}

TEST_CASE("phases: what a measurement says of itself moves from one phase to another") {
  tests::FakeClock clock(0);
  PhaseClock phases(clock);
  {
    const PhaseClock::Scope scope(&phases, Phase::kBetween);
    clock.advance_s(10);
    phases.claim(Phase::kWarmUp, 2);
    phases.claim(Phase::kSamples, 7);
  }
  CHECK(phases.time_s(Phase::kBetween) == Catch::Approx(1));
  CHECK(phases.time_s(Phase::kWarmUp) == Catch::Approx(2));
  CHECK(phases.time_s(Phase::kSamples) == Catch::Approx(7));
  CHECK(phases.total_s() == Catch::Approx(10));
  CHECK(phases.measuring_share() == Catch::Approx(0.9));
}

TEST_CASE("phases: evicting caches counts for itself, not for what waits for it") {
  struct SlowEvictor final : profilers::CacheEvictor {
    explicit SlowEvictor(tests::FakeClock& of) : clock(of) {}
    void evict_all() override { clock.advance_s(2); }
    void evict(std::span<const std::byte> /*range*/) override { clock.advance_s(1); }
    tests::FakeClock& clock;
  };
  tests::FakeClock clock(0);
  PhaseClock phases(clock);
  SlowEvictor slow(clock);
  profilers::PhasedEvictor evictor(slow, phases);
  {
    const PhaseClock::Scope scope(&phases, Phase::kBetween);
    evictor.evict_all();
    clock.advance_s(4);
    evictor.evict({});
  }
  CHECK(phases.time_s(Phase::kEvicting) == Catch::Approx(3));
  CHECK(phases.time_s(Phase::kBetween) == Catch::Approx(4));
  CHECK_FALSE(profilers::is_measuring(Phase::kEvicting));
}

TEST_CASE("phases: without a clock a scope times nothing") {
  const PhaseClock::Scope scope(nullptr, Phase::kSamples);
  SUCCEED();
}

TEST_CASE("phases: each has a name, and no two the same") {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < profilers::kPhases; ++i) {
    names.insert(profilers::name_of(static_cast<Phase>(i)));
  }
  CHECK(names.size() == profilers::kPhases);
  CHECK_FALSE(names.contains(""));
}

TEST_CASE("phases: a case divides its time as its launches took it") {
  tests::CaseBench bench;
  bench.behaviour.first_launch_s = bench.behaviour.launch_s;
  PhaseClock phases(*bench.clock);
  cli::CaseRunner runner(bench.seams, bench.measuring, nullptr, &phases);
  const double begin_s = bench.clock->elapsed_s();
  const profilers::Record record = runner.run(tests::CaseBench::planned("variant=mha:dim=8:heads=2:seq_len=4"));
  REQUIRE(record.status == profilers::Status::kOk);
  const double run_s = bench.behaviour.launch_s * static_cast<double>(record.launches.size());
  const profilers::Measurement& measured = *record.measured;
  const auto runs_of = [&](Phase phase) { return phases.time_s(phase) / run_s; };
  CHECK(runs_of(Phase::kVerification) == Catch::Approx(1).margin(0.01));
  // The first run, those before the samples, and the one before the pass over single launches.
  CHECK(runs_of(Phase::kWarmUp) == Catch::Approx(2.0 + static_cast<double>(measured.warmup_runs)).epsilon(0.01));
  const auto samples = static_cast<double>(measured.samples_s.size());
  CHECK(runs_of(Phase::kSamples) ==
        Catch::Approx(samples * static_cast<double>(measured.iterations_per_sample)).epsilon(0.01));
  CHECK(runs_of(Phase::kLaunches) >= 5);
  CHECK(runs_of(Phase::kBetween) >= 0);
  CHECK(runs_of(Phase::kBuffers) < 0.01); // preparing takes a made-up device no time
  CHECK(sum_of(phases) == Catch::Approx(bench.clock->elapsed_s() - begin_s).epsilon(1e-6));
  CHECK(phases.measuring_share() > 0.9);
}
