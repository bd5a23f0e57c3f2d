// The cache model beside the simulation of cachegrind, launch by launch, on caches small enough to be left.
#include "operators/core/cost.hpp"
#include "operators/core/plan.hpp"
#include "operators/workload.hpp"
#include "profilers/simulate/simulator.hpp"
#include "profilers/system_files.hpp"
#include "reports/format.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/run_binary.hpp"
#include "tests/support/temp_dir.hpp"

#include <fmt/format.h>
#include <iostream>

using namespace attnprof;

namespace {

/// What docs/counters.md states of launches whose operands each fit the level, and of those that read one again and
/// again because it does not.
constexpr double kFactor = 2;
constexpr double kFactorOfLargeOperands = 4;
constexpr double kFactorOfCases = 1.6;

const std::vector<profilers::CacheLevel>& levels() {
  static const std::vector<profilers::CacheLevel> kLevels{{1, 32 << 10, 1, 64}, {2, 512 << 10, 1, 64}};
  return kLevels;
}

bool has_valgrind() {
  return tests::run_program("/bin/sh", {"-c", "command -v valgrind"}).exit_code == 0;
}

std::vector<profilers::SimulatedCounts> simulated(const std::string& id) {
  const tests::TempDir folder;
  const std::string out_file = (folder / "launch").string();
  std::vector<std::string> args{"valgrind"};
  for (const std::string& arg : profilers::valgrind_arguments(profilers::simulated_caches(levels()), out_file)) {
    args.push_back(arg);
  }
  for (const char* arg : {"run", "--replay=1"}) {
    if (std::string(arg) == "run") {
      args.push_back(tests::binary());
    }
    args.emplace_back(arg);
  }
  args.push_back(id);
  const tests::RunResult result = tests::run_program("/usr/bin/env", args);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  std::vector<profilers::SimulatedCounts> out;
  while (const auto text = profilers::read_text(fmt::format("{}.{}", out_file, out.size() + 1))) {
    const auto counts = profilers::parse_callgrind(*text, 64);
    REQUIRE(counts);
    out.push_back(*counts);
  }
  return out;
}

/// Bytes of the largest operand of a launch.
std::int64_t largest_operand(const operators::Graph& launches, const operators::Op& op) {
  std::int64_t out = 0;
  const operators::Io io = operators::io_of(op.primitive);
  for (const auto* views : {&io.reads, &io.writes}) {
    for (const operators::View& view : *views) {
      const std::int64_t size = operators::size_bytes(launches.tensor(view.tensor).dtype);
      out = std::max(out, view.distinct_elements().value() * size);
    }
  }
  return out;
}

double factor_between(double a, double b) {
  return std::max(a, b) / std::max(1.0, std::min(a, b));
}

} // namespace

TEST_CASE("the cache model and the simulation of cachegrind agree on the launches of a transformer block") {
  if (!has_valgrind()) {
    WARN("valgrind is not installed: nothing was compared");
    return;
  }
  const std::string id = "layout=standard:variant=mha:seq_len=196:dim=192:heads=3:threads=1:plan=eager";
  const operators::Graph launches =
      operators::plan_launches(operators::build(operators::resolve(operators::parse_case_id(id))), "eager");
  const operators::Cost cost = operators::cost_of(launches);
  const auto model = profilers::modelled_traffic(launches, levels(), profilers::CachePolicy::kWarm);
  const auto counts = simulated(id);
  REQUIRE(counts.size() == launches.ops.size());
  REQUIRE(counts.size() >= 10);
  std::vector<std::vector<std::string>> rows;
  double model_bytes = 0;
  double simulated_bytes = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double found = static_cast<double>(*counts[i].dram_bytes);
    const double expected = model[i][1].fill_bytes;
    const bool fits = largest_operand(launches, launches.ops[i]) < levels()[1].bytes;
    model_bytes += expected;
    simulated_bytes += found;
    const double factor = factor_between(found, expected);
    rows.push_back({cost.launches[i].scope, cost.launches[i].shape,
                    reports::si(static_cast<double>(cost.launches[i].bytes.working_set.value()), "B"),
                    reports::si(expected, "B"), reports::si(found, "B"), fmt::format("{:.2f}", found / expected),
                    reports::si(model[i][0].fill_bytes, "B"),
                    reports::si(static_cast<double>(*counts[i].l1_misses * 64), "B")});
    INFO(cost.launches[i].scope << ": modelled " << expected << ", simulated " << found);
    CHECK(factor < (fits ? kFactor : kFactorOfLargeOperands));
    // No kernel touches less than its operands, so the first level is a lower bound.
    CHECK(static_cast<double>(*counts[i].l1_misses * 64) > 0.9 * model[i][0].fill_bytes);
    CHECK(*counts[i].instructions > 1000);
  }
  CHECK(factor_between(model_bytes, simulated_bytes) < kFactorOfCases);
  rows.push_back({"sum", "", "", reports::si(model_bytes, "B"), reports::si(simulated_bytes, "B"),
                  fmt::format("{:.2f}", simulated_bytes / model_bytes), "", ""});
  using reports::Align;
  // Catch2 would wrap the lines.
  std::cout << "line fills with caches of " << profilers::text_of(levels()) << "\n"
            << reports::text_table({{"launch", Align::kLeft},
                                    {"shape", Align::kLeft},
                                    {"operands"},
                                    {"L2 model"},
                                    {"simulated"},
                                    {"ratio"},
                                    {"L1 model"},
                                    {"simulated"}},
                                   rows)
            << std::flush;
}
