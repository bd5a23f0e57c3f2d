#include "cli/app.hpp"
#include "cli/context.hpp"
#include "operators/core/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/fake_perf.hpp"
#include "tests/unit/cli_fakes.hpp"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace attnprof;

namespace {

struct DoctorBench {
  std::shared_ptr<tests::FakeClock> clock = std::make_shared<tests::FakeClock>();
  std::shared_ptr<tests::FakePerf> perf = std::make_shared<tests::FakePerf>();
  std::unique_ptr<profilers::Counters> counters;
  cli::Seams seams;

  DoctorBench() {
    const auto chain = [this] { perf->advance(0, {{{0, 0}, 1e6}}, 1e6); };
    counters = std::make_unique<profilers::Counters>(
        perf, profilers::CounterHost{4, {}, {}, {}, {}, {}, 64, {}},
        std::vector<profilers::CheckKernel>{{profilers::CounterQuantity::kCycles, "cycles", 1e6, {}, chain}});
    seams.clock = clock;
    seams.host = std::make_shared<tests::FakeHost>(*clock);
    seams.files = std::make_shared<tests::FakeFolders>();
    seams.interrupt = std::make_shared<cli::Interrupt>();
    seams.environment = [] { return profilers::Environment(); };
    seams.machine_path = [](const std::string&) { return std::nullopt; };
    seams.make_executor = [](std::string_view) -> std::unique_ptr<operators::Executor> {
      throw operators::Error(operators::ErrorKind::kUnavailable, "no such device here");
    };
    seams.doctor_host = [] {
      profilers::DoctorHost host;
      host.root = "/nowhere";
      host.try_counter = [] { return profilers::CounterTrial{0, 1000}; };
      host.try_cuda = [] { return profilers::CudaTrial(); };
      host.has_library = [](const std::string&) { return false; };
      host.has_program = [](const std::string&) { return false; };
      host.variable = [](const std::string&) { return std::nullopt; };
      return host;
    };
    seams.counters = [this]() -> profilers::Counters& { return *counters; };
  }
};

} // namespace

TEST_CASE("doctor: a row for each counter with verdict, reason and fix") {
  DoctorBench bench;
  bench.perf->refused[{0, 1}] = EACCES;
  std::ostringstream out;
  std::ostringstream err;
  const std::vector<std::string> args{"doctor", "--json"};
  REQUIRE(cli::run(args, out, err, bench.seams) == 0);
  std::map<std::string, nlohmann::json> rows;
  for (const nlohmann::json& row : nlohmann::json::parse(out.str())) {
    rows[row["name"].get<std::string>()] = row;
  }
  for (const profilers::CounterQuantity quantity : profilers::kCounterQuantities) {
    const std::string name = "counter " + std::string(profilers::name_of(quantity));
    INFO(name);
    REQUIRE(rows.contains(name));
    CHECK_FALSE(rows[name]["reason"].get<std::string>().empty());
  }
  CHECK(rows["counter cycles"]["verdict"] == "ok");
  CHECK(rows["counter cycles"]["fix"].is_null());
  CHECK(rows["counter instructions"]["verdict"] == "absent");
  CHECK(rows["counter instructions"]["reason"].get<std::string>().find("perf_event_paranoid is 4") !=
        std::string::npos);
  CHECK(rows["counter instructions"]["fix"].get<std::string>().find("sysctl") != std::string::npos);
  CHECK(rows["counter fp_ops"]["reason"].get<std::string>().find("unknown event") != std::string::npos);
  CHECK(rows["counter task_clock_s"]["verdict"] == "ok");
}
