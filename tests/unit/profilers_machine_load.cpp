#include "profilers/machine_load.hpp"

#include "cli/context.hpp"
#include "operators/core/plan.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/fake_system.hpp"

using namespace attnprof;
using namespace attnprof::profilers;

TEST_CASE("load of others: busy time is all but idle and waiting") {
  CHECK(*parse_busy_s("cpu  100 10 20 5000 300 1 2 67 0 0\ncpu0 1 1 1 1", 100) == Catch::Approx(2.0));
  CHECK_FALSE(parse_busy_s("cpu 1 2 3", 100));
  CHECK_FALSE(parse_busy_s("intr 1 2 3 4 5 6 7 8", 100));
  const tests::FakeSystem system;
  tests::FakeClock clock;
  CHECK_FALSE(read_load(system.root(), clock).busy_s);
  system.write("proc/stat", "cpu  100 10 20 5000 300 1 2 67 0 0");
  const LoadReading found = read_load(system.root(), clock);
  CHECK(found.busy_s);
  CHECK(found.own_s);
}

TEST_CASE("load of others: the own work is no load, and little of it is not worth a word") {
  const LoadReading before{0, 100.0, 10.0};
  const auto after = [&](double others_s) { return LoadReading{10'000'000'000, 100.0 + 6.0 + others_s, 16.0}; };
  CHECK_FALSE(note_of_load(before, after(0), 2));
  CHECK_FALSE(note_of_load(before, after(1.9), 2));
  const auto note = note_of_load(before, after(9), 2);
  REQUIRE(note);
  CHECK(note->starts_with("other programs used 45 % of the processors"));
  CHECK_FALSE(note_of_load({0, std::nullopt, 10.0}, after(9), 2));
  CHECK_FALSE(note_of_load(before, LoadReading{0, 200.0, 10.0}, 2));
}

TEST_CASE("the processors of the process stay known while a program has bound this thread to one") {
  cli::Seams seams = cli::system_seams();
  const Environment before = seams.environment();
  const auto config = operators::resolve(operators::parse_case_id("variant=mha:dim=8:heads=2:seq_len=4"));
  operators::ExecOptions options;
  options.threads = before.cores;
  const auto program =
      seams.make_executor("cpu")->prepare(operators::plan_launches(operators::build(config), "eager"), options);
  program->run();
  const Environment while_bound = seams.environment();
  CHECK(while_bound.cores == before.cores);
  CHECK(while_bound.caches == before.caches);
}
