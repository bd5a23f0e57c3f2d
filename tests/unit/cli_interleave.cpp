#include "cli/interleave.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/cli_fakes.hpp"

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

struct Bench {
  std::shared_ptr<tests::FakeClock> clock = std::make_shared<tests::FakeClock>();
  cli::Seams seams;
  std::vector<char> order;

  Bench() {
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
};

cli::PlannedCase planned(const std::string& variant, const std::string& plan) {
  cli::PlannedCase out;
  out.config.set("variant", variant);
  out.config.set("plan", plan);
  return out;
}

} // namespace

TEST_CASE("interleave: rounds go A B B A, and a machine that slows down does not tilt the ratio") {
  Bench bench;
  std::vector<cli::PreparedCase> cases;
  cases.push_back(bench.prepared('a', 0.1));
  cases.push_back(bench.prepared('b', 0.1));
  cli::MeasuringRequest measuring;
  measuring.timing.warmup = 0;
  measuring.timing.repetitions = 16; // one a visit
  measuring.timing.timeout_s = 1e6;
  const cli::RoundMedians rounds = measure_interleaved(cases, measuring, bench.seams);
  REQUIRE(rounds.medians_s.size() == 2);
  CHECK(rounds.medians_s[0].size() == cli::kInterleavedRounds);
  // In the order A B A B each b would run later than its a, and so seem slower by the drift of a visit.
  const auto ratio = cli::paired_ratio(rounds.medians_s[0], rounds.medians_s[1]);
  REQUIRE(ratio);
  CHECK(ratio->ratio == Catch::Approx(1.0).margin(0.002));
  CHECK(cases[0].record.measured->samples_s.size() == 16);
  CHECK(cases[1].record.measured->time_median_s);
}

TEST_CASE("interleave: cases without a program are left alone, an interrupt ends the rounds") {
  Bench bench;
  std::vector<cli::PreparedCase> cases;
  cases.push_back(bench.prepared('a', 0.1));
  cases.emplace_back();
  cli::MeasuringRequest measuring;
  measuring.timing.repetitions = 16;
  measuring.timing.timeout_s = 1e6;
  const cli::RoundMedians rounds = measure_interleaved(cases, measuring, bench.seams);
  CHECK(rounds.medians_s[1].empty());
  CHECK_FALSE(cases[1].record.measured);
  CHECK_FALSE(cli::paired_ratio(rounds.medians_s[0], rounds.medians_s[1]));
  bench.seams.interrupt->requested = true;
  const std::size_t runs = bench.order.size();
  CHECK(measure_interleaved(cases, measuring, bench.seams).medians_s[0].empty());
  CHECK(bench.order.size() == runs);
}

TEST_CASE("interleave: ratios are paired and their verdict needs an interval") {
  const std::vector<double> base{1, 2, 1, 2, 1, 2};
  const std::vector<double> twice{2, 4, 2, 4, 2, 4};
  const auto slower = cli::paired_ratio(base, twice);
  REQUIRE(slower);
  CHECK(slower->ratio == 2.0);
  CHECK(cli::verdict_of(*slower) == "slower");
  CHECK(cli::verdict_of(*cli::paired_ratio(twice, base)) == "faster");
  CHECK(cli::verdict_of(*cli::paired_ratio(base, base)) == "no difference shown");
  CHECK(cli::verdict_of(*cli::paired_ratio({1, 1, 1}, {2, 2, 2})) ==
        "no difference shown"); // three rounds prove nothing
  CHECK(cli::verdict_of(*cli::paired_ratio(base, {2, 1, 2, 1, 2, 1})) == "no difference shown");
}

TEST_CASE("interleave: cases of equal plan are compared, plans only where nothing else differs") {
  using Groups = std::vector<std::vector<std::size_t>>;
  CHECK(cli::comparison_groups({planned("mha", "eager"), planned("mha", "fused")}) == Groups{{0, 1}});
  CHECK(cli::comparison_groups({planned("mha", "eager"), planned("mha", "fused"), planned("cga", "eager"),
                                planned("cga", "fused")}) == Groups{{0, 2}, {1, 3}});
  CHECK(cli::comparison_groups({planned("mha", "eager"), planned("cga", "eager")}) == Groups{{0, 1}});
}
