#include "cli/interleave.hpp"
#include "cli/planted.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/cli_fakes.hpp"

#include <cmath>
#include <random>

using namespace attnprof;

namespace {

/// A program whose run takes as long as the fake clock is told.
class FakeProgram final : public operators::Program {
 public:
  FakeProgram(tests::FakeClock& clock, std::vector<char>& order, char name, double time_s)
      : clock_(clock), order_(order), name_(name), time_s_(time_s) {}
  void run() override {
    order_.push_back(name_);
    // The machine slows down all the time, by one percent a run.
    clock_.advance_s(time_s_ * (1 + 0.01 * static_cast<double>(order_.size())));
  }
  void run_launch(std::size_t) override {}
  const std::vector<std::string>& kernel_impls() const override { return impls_; }
  void write(operators::TensorId, std::span<const float>) override {}
  std::vector<float> read(operators::TensorId) const override { return {}; }
  std::optional<std::span<const std::byte>> memory(operators::TensorId) const override { return std::nullopt; }

 private:
  tests::FakeClock& clock_;
  std::vector<char>& order_;
  char name_;
  double time_s_;
  std::vector<std::string> impls_;
};

/// A program on a busy machine: samples scatter by 8 %, one in twenty stalls for half its time, and the speed wanders.
class NoisyProgram final : public operators::Program {
 public:
  NoisyProgram(tests::FakeClock& clock, std::uint64_t seed) : clock_(clock), random_(seed) {}
  void run() override {
    const double wander = 0.1 * std::sin(clock_.elapsed_s() * 40);
    const double stall = uniform() < 0.05 ? 1.5 : 1.0;
    clock_.advance_s(1e-3 * stall * std::exp(wander + 0.08 * normal()));
  }
  void run_launch(std::size_t) override {}
  const std::vector<std::string>& kernel_impls() const override { return impls_; }
  void write(operators::TensorId, std::span<const float>) override {}
  std::vector<float> read(operators::TensorId) const override { return {}; }
  std::optional<std::span<const std::byte>> memory(operators::TensorId) const override { return std::nullopt; }

 private:
  double uniform() { return (static_cast<double>(random_() >> 11U) + 0.5) / 9007199254740992.0; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }

  tests::FakeClock& clock_;
  std::mt19937_64 random_;
  std::vector<std::string> impls_;
};

struct InterleaveBench {
  std::shared_ptr<tests::FakeClock> clock = std::make_shared<tests::FakeClock>();
  cli::Seams seams;
  std::vector<char> order;

  InterleaveBench() {
    seams.clock = clock;
    seams.host = std::make_shared<tests::FakeHost>(*clock);
    seams.interrupt = std::make_shared<cli::Interrupt>();
  }
  cli::PreparedCase prepared(char name, double time_s) {
    cli::PreparedCase out;
    out.record.id = std::string(1, name);
    out.program = std::make_unique<FakeProgram>(*clock, order, name, time_s);
    return out;
  }
  cli::PreparedCase noisy(std::uint64_t seed) {
    cli::PreparedCase out;
    out.program = std::make_unique<NoisyProgram>(*clock, seed);
    return out;
  }
};

cli::PlannedCase planned(const std::string& variant, const std::string& plan) {
  cli::PlannedCase out;
  out.config.set("variant", variant);
  out.config.set("plan", plan);
  return out;
}

} // namespace

TEST_CASE("interleave: rounds go A B B A, and a machine that slows down does not tilt the ratio") {
  InterleaveBench bench;
  std::vector<cli::PreparedCase> cases;
  cases.push_back(bench.prepared('a', 0.1));
  cases.push_back(bench.prepared('b', 0.1));
  cli::MeasuringRequest measuring;
  measuring.timing.warmup = 0;
  measuring.timing.repetitions = 40; // one a visit
  measuring.timing.timeout_s = 1e6;
  const cli::RoundMedians rounds = measure_interleaved(cases, measuring, bench.seams);
  REQUIRE(rounds.medians_s.size() == 2);
  CHECK(rounds.medians_s[0].size() == cli::kMostRounds);
  CHECK(rounds.self_log_ratios.size() == 2 * cli::kMostRounds);
  // In the order A B A B each b would run later than its a, and so seem slower by the drift of a visit.
  const cli::TurnComparison comparison = cli::compare_turns(rounds, {{0, 1}}, 0.2);
  REQUIRE(comparison.verdicts[1]);
  CHECK(comparison.verdicts[1]->ratio == Catch::Approx(1.0).margin(0.002));
  CHECK(comparison.verdicts[1]->change == cli::Change::kSame);
  CHECK_FALSE(comparison.verdicts[0]); // the base
  CHECK(cases[0].record.measured->samples_s.size() == 2 * cli::kMostRounds);
  CHECK(cases[1].record.measured->time_median_s);
}

TEST_CASE("interleave: cases without a program are left alone, an interrupt ends the rounds") {
  InterleaveBench bench;
  std::vector<cli::PreparedCase> cases;
  cases.push_back(bench.prepared('a', 0.1));
  cases.emplace_back();
  cli::MeasuringRequest measuring;
  measuring.timing.repetitions = 16;
  measuring.timing.timeout_s = 1e6;
  const cli::RoundMedians rounds = measure_interleaved(cases, measuring, bench.seams);
  CHECK(rounds.medians_s[1].empty());
  CHECK_FALSE(cases[1].record.measured);
  CHECK_FALSE(cli::compare_turns(rounds, {{0, 1}}, std::nullopt).verdicts[1]);
  bench.seams.interrupt->requested = true;
  const std::size_t runs = bench.order.size();
  CHECK(measure_interleaved(cases, measuring, bench.seams).medians_s[0].empty());
  CHECK(bench.order.size() == runs);
}

TEST_CASE("interleave: long cases get fewer rounds, so that the timeout holds") {
  InterleaveBench bench;
  std::vector<cli::PreparedCase> cases;
  cases.push_back(bench.prepared('a', 1.0));
  cases.push_back(bench.prepared('b', 1.0));
  cases[0].first_run_s = cases[1].first_run_s = 1.0;
  cli::MeasuringRequest measuring;
  measuring.timing.timeout_s = 20;
  CHECK(measure_interleaved(cases, measuring, bench.seams).medians_s[0].size() == cli::kFewestRounds);
}

TEST_CASE("interleave: ratios are paired and their verdict needs enough rounds") {
  const std::vector<double> base{1, 2, 1, 2, 1, 2};
  const std::vector<double> twice{2, 4, 2, 4, 2, 4};
  const auto compared = [](const std::vector<double>& a, const std::vector<double>& b) {
    return cli::compare_turns({{a, b}, {}}, {{0, 1}}, std::nullopt).verdicts[1];
  };
  const auto slower = compared(base, twice);
  REQUIRE(slower);
  CHECK(slower->ratio == Catch::Approx(2.0));
  CHECK(slower->change == cli::Change::kSlower);
  CHECK(compared(twice, base)->change == cli::Change::kFaster);
  CHECK(compared(base, base)->change == cli::Change::kSame);
  CHECK_FALSE(compared({1, 1, 1}, {2, 2, 2})); // three rounds prove nothing
  CHECK(compared(base, {2, 1, 2, 1, 2, 1})->change == cli::Change::kInconclusive);
}

TEST_CASE("interleave: a threshold below what like visits differ by is refused, the default raised") {
  cli::RoundMedians rounds;
  rounds.medians_s = {{1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}};
  rounds.self_log_ratios = {0.2, -0.2, 0.2, -0.2, 0.2, -0.2};
  CHECK_THROWS_WITH(cli::compare_turns(rounds, {{0, 1}}, 0.01), Catch::Matchers::Contains("noise floor"));
  const cli::TurnComparison raised = cli::compare_turns(rounds, {{0, 1}}, std::nullopt);
  CHECK(raised.threshold == raised.noise_floor);
  CHECK(raised.threshold > cli::kDefaultThreshold);
  CHECK(raised.notes.size() == 1);
}

TEST_CASE("interleave: a case against itself raises at most 1 alarm in 20, a planted 10 % is found in 19 of 20") {
  constexpr int kRuns = 100;
  int alarms = 0;
  int found = 0;
  for (int run = 0; run < kRuns; ++run) {
    for (const double share : {0.0, 0.1}) {
      InterleaveBench bench;
      std::vector<cli::PreparedCase> cases;
      cases.push_back(bench.noisy(static_cast<std::uint64_t>(run)));
      cases.push_back(bench.noisy(static_cast<std::uint64_t>(run) + 1000));
      cases[1].program = cli::planted(std::move(cases[1].program), share, *bench.clock);
      const cli::RoundMedians rounds = measure_interleaved(cases, {}, bench.seams);
      const auto verdict = cli::compare_turns(rounds, {{0, 1}}, std::nullopt).verdicts[1];
      REQUIRE(verdict);
      const bool is_alarm = verdict->change == cli::Change::kSlower || verdict->change == cli::Change::kFaster;
      alarms += share == 0.0 && is_alarm ? 1 : 0;
      found += share > 0.0 && verdict->change == cli::Change::kSlower ? 1 : 0;
    }
  }
  CHECK(alarms <= kRuns / 20);
  CHECK(found >= kRuns - kRuns / 20);
}

TEST_CASE("planted: a program is slowed down by a share of its own time and is otherwise the same") {
  InterleaveBench bench;
  cli::PreparedCase one = bench.prepared('a', 0.1);
  const double begin_s = bench.clock->elapsed_s();
  one.program->run();
  const double plain_s = bench.clock->elapsed_s() - begin_s;
  const auto slowed = cli::planted(std::move(one.program), 0.5, *bench.clock);
  slowed->run();
  CHECK(bench.clock->elapsed_s() - begin_s - plain_s == Catch::Approx(1.5 * plain_s).epsilon(0.02));
  CHECK(bench.order == std::vector<char>{'a', 'a'});
}

TEST_CASE("interleave: cases of equal plan are compared, plans only where nothing else differs") {
  using Groups = std::vector<std::vector<std::size_t>>;
  CHECK(cli::comparison_groups({planned("mha", "eager"), planned("mha", "fused")}) == Groups{{0, 1}});
  CHECK(cli::comparison_groups({planned("mha", "eager"), planned("mha", "fused"), planned("cga", "eager"),
                                planned("cga", "fused")}) == Groups{{0, 2}, {1, 3}});
  CHECK(cli::comparison_groups({planned("mha", "eager"), planned("cga", "eager")}) == Groups{{0, 1}});
}
