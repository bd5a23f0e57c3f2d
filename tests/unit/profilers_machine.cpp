#include "profilers/machine.hpp"
#include "profilers/machine_measure.hpp"
#include "profilers/system_probe_runner.hpp"
#include "profilers/thread_team.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/fake_probe_runner.hpp"
#include "tests/support/sizes.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace attnprof::profilers;
using attnprof::tests::FakeClock;
using attnprof::tests::FakeProbeRunner;
using attnprof::tests::kKiB;
using attnprof::tests::kMiB;

namespace {

// Two cores with caches of their own below a shared third level that both threads together can saturate.
Environment two_cores() {
  Environment environment;
  environment.cpu_model = "Made Up 2";
  environment.cores = 2;
  environment.cpus = {0, 1};
  environment.physical_cores = 2;
  environment.caches = {
      {1, "data", 32 * kKiB, 64, 1, 2}, {2, "unified", 512 * kKiB, 64, 1, 2}, {3, "unified", 16 * kMiB, 64, 2, 1}};
  environment.memory_available_bytes = std::int64_t{8} << 30U;
  return environment;
}

struct MachineBench {
  FakeClock clock{20};
  FakeProbeRunner runner{clock};
  Environment environment = two_cores();

  MachineBench() {
    runner.peaks = {{{"fma", "f32", "baseline", 192}, 50e9, false},
                    {{"fma", "f32", "avx2", 192}, 100e9, false},
                    {{"exp", "f32", "avx2", 1024}, 2e9, false}};
    runner.levels = {{32 * kKiB, 200e9}, {512 * kKiB, 100e9}, {16 * kMiB, 50e9, 90e9}, {0, 15e9, 20e9}};
  }
  Machine measure(double budget_s = 12) { return measure_machine(environment, runner, clock, {budget_s}); }
};

bool lists(const Machine& machine, const std::string& level, int threads, const std::string& origin) {
  return std::any_of(machine.levels.begin(), machine.levels.end(), [&](const MemoryLevel& entry) {
    return entry.level == level && entry.threads == threads && entry.origin == origin;
  });
}

} // namespace

TEST_CASE("ceilings of a made-up machine come out as they went in") {
  MachineBench bench;
  const Machine machine = bench.measure();
  CHECK(machine.schema_version == kMachineSchemaVersion);
  CHECK(machine.fingerprint == fingerprint(bench.environment));
  CHECK(machine.timer == "fake_clock");
  CHECK(*machine.cpu_clock_hz == Catch::Approx(3e9));
  CHECK(compute_ceiling(machine, "f32", "fma", 1)->per_s == Catch::Approx(100e9).epsilon(0.01));
  CHECK(compute_ceiling(machine, "f32", "fma", 1)->by == "avx2");
  CHECK(compute_ceiling(machine, "f32", "fma", 1, "baseline")->per_s == Catch::Approx(50e9).epsilon(0.01));
  CHECK(compute_ceiling(machine, "f32", "fma", 2)->per_s == Catch::Approx(200e9).epsilon(0.01));
  CHECK(compute_ceiling(machine, "f32", "fma", 2)->origin == "measured");
  CHECK(compute_ceiling(machine, "f32", "exp", 2)->per_s == Catch::Approx(4e9).epsilon(0.01));
  for (const int threads : {1, 2}) {
    CHECK(bandwidth_ceiling(machine, "L1", threads)->per_s == Catch::Approx(200e9 * threads).epsilon(0.01));
    CHECK(bandwidth_ceiling(machine, "L2", threads)->per_s == Catch::Approx(100e9 * threads).epsilon(0.01));
    for (const char* level : {"L1", "L2", "L3", "DRAM"})
      CHECK(lists(machine, level, threads, "curve"));
  }
  CHECK(bandwidth_ceiling(machine, "L3", 1)->per_s == Catch::Approx(50e9).epsilon(0.01));
  CHECK(bandwidth_ceiling(machine, "L3", 2)->per_s == Catch::Approx(90e9).epsilon(0.01));
  CHECK(bandwidth_ceiling(machine, "DRAM", 2)->per_s == Catch::Approx(20e9).epsilon(0.01));
  CHECK(bandwidth_ceiling(machine, "DRAM", 1, "write")->per_s == Catch::Approx(7.5e9).epsilon(0.01));
  CHECK(bandwidth_ceiling(machine, "DRAM", 1, "triad_nt").has_value());
  CHECK_FALSE(bandwidth_ceiling(machine, "L1", 1, "triad_nt"));
  CHECK(machine.notes.empty());
  CHECK(bench.runner.grain_held);
  CHECK(bench.runner.streams > 0);
}

TEST_CASE("empty launches are timed for each thread count") {
  MachineBench bench;
  Machine machine = bench.measure();
  REQUIRE(machine.launch_overheads.size() == 2);
  CHECK(*launch_overhead_s(machine, 1) == Catch::Approx(1e-6));
  CHECK(*launch_overhead_s(machine, 2) == Catch::Approx(2e-6));
  machine.launch_overheads.push_back({8, 9e-6});
  CHECK(*launch_overhead_s(machine, 3) == 9e-6);
  CHECK_FALSE(launch_overhead_s(machine, 9));
  CHECK_FALSE(launch_overhead_s(Machine{}, 1));
}

TEST_CASE("a ceiling that its repetitions often miss is wide") {
  CHECK(is_wide(69, 100));
  CHECK_FALSE(is_wide(71, 100));
  CHECK_FALSE(is_wide(0, 100)); // a data sheet has no repetitions
}

TEST_CASE("the budget holds, the least rounds are run") {
  for (const double budget_s : {4.0, 12.0}) {
    MachineBench bench;
    bench.measure(budget_s);
    CHECK(bench.clock.elapsed_s() < 1.3 * budget_s);
  }
  MachineBench bench;
  const Machine machine = bench.measure(0.001);
  CHECK(bandwidth_ceiling(machine, "DRAM", 2).has_value());
  CHECK(bench.clock.elapsed_s() < 3);
}

TEST_CASE("what others do to the machine lowers no ceiling") {
  MachineBench bench;
  std::mt19937 random(3);
  // Every third sample takes up to four times as long.
  bench.runner.slowdown = [&] { return random() % 3 == 0 ? 1 + 3 * static_cast<double>(random() % 100) / 100 : 1.0; };
  const Machine machine = bench.measure();
  CHECK(compute_ceiling(machine, "f32", "fma", 2)->per_s == Catch::Approx(200e9).epsilon(0.02));
  CHECK(bandwidth_ceiling(machine, "L2", 1)->per_s == Catch::Approx(100e9).epsilon(0.02));
  CHECK(bandwidth_ceiling(machine, "DRAM", 2)->per_s == Catch::Approx(20e9).epsilon(0.02));
  const auto ceiling = *bandwidth_ceiling(machine, "L3", 1);
  CHECK(ceiling.low < 0.8 * ceiling.per_s);
  CHECK(ceiling.high >= ceiling.per_s);
}

TEST_CASE("of two measurements the best rates are kept, and their spread is that of both") {
  MachineBench slow;
  slow.runner.slowdown = [] { return 2.0; };
  const Machine first = slow.measure();
  MachineBench quick;
  Machine second = quick.measure();
  second.compute.erase(second.compute.begin());
  second.absent.push_back({first.compute[0].unit, first.compute[0].dtype, first.compute[0].isa, "it was busy"});
  const Machine best = best_of(second, first);
  const auto fma = *compute_ceiling(best, "f32", "fma", 2);
  CHECK(fma.per_s == Catch::Approx(200e9).epsilon(0.01));
  CHECK(fma.low == Catch::Approx(100e9).epsilon(0.01));
  CHECK(best.compute.size() == first.compute.size()); // what one of them could not measure comes from the other
  CHECK(best.absent.empty());
  CHECK(bandwidth_ceiling(best, "L2", 1, "read")->per_s == Catch::Approx(100e9).epsilon(0.01));
  CHECK(*launch_overhead_s(best, 2) == Catch::Approx(2e-6));
  // The other way about the result is the same, and a second time changes nothing.
  const Machine other = best_of(first, second);
  CHECK(bandwidth_ceiling(other, "DRAM", 2)->per_s == bandwidth_ceiling(best, "DRAM", 2)->per_s);
  CHECK(best_of(best, first).notes == best.notes);
  CHECK(best_of(best, first).bandwidth == best.bandwidth);
}

TEST_CASE("rounds that the system disturbed are left out, so that they do not widen a ceiling") {
  MachineBench bench;
  std::mt19937 random(5);
  bool disturbed = false;
  bench.runner.disturbance = [&] { return disturbed = random() % 4 != 0; };
  bench.runner.slowdown = [&] { return disturbed ? 2 + static_cast<double>(random() % 100) / 10 : 1.0; };
  const Machine machine = bench.measure();
  for (const auto& ceiling : {*compute_ceiling(machine, "f32", "fma", 2), *bandwidth_ceiling(machine, "L2", 2)}) {
    CHECK(ceiling.low > 0.98 * ceiling.per_s);
    CHECK(ceiling.high < 1.02 * ceiling.per_s);
  }
  CHECK(compute_ceiling(machine, "f32", "fma", 2)->per_s == Catch::Approx(200e9).epsilon(0.02));
  CHECK(bench.clock.elapsed_s() < 1.6 * 12);
  // Where every round is disturbed there is nothing better, and the spread shows it.
  bench.runner.disturbance = [&] { return disturbed = true; };
  const Machine busy = bench.measure(4);
  const auto ceiling = *bandwidth_ceiling(busy, "DRAM", 1);
  CHECK(ceiling.low < 0.8 * ceiling.per_s);
}

TEST_CASE("a peak probe whose loop was removed is absent, not infinite (BUG-109)") {
  MachineBench bench;
  bench.runner.peaks[1].optimised_away = true;
  const Machine machine = bench.measure();
  CHECK_FALSE(compute_ceiling(machine, "f32", "fma", 1, "avx2"));
  CHECK(compute_ceiling(machine, "f32", "fma", 1)->by == "baseline");
  const auto gone = std::find_if(machine.absent.begin(), machine.absent.end(),
                                 [](const AbsentCeiling& entry) { return entry.isa == "avx2" && entry.unit == "fma"; });
  REQUIRE(gone != machine.absent.end());
  CHECK(gone->reason.find("doubling the work") != std::string::npos);
}

TEST_CASE("work doubles time") {
  CHECK(*work_doubles_time(std::vector{1.0, 1.1}, std::vector{2.0, 2.3}));
  CHECK_FALSE(*work_doubles_time(std::vector{1.0, 1.0}, std::vector{1.0, 1.1}));
  CHECK_FALSE(*work_doubles_time(std::vector{1.0, 1.0}, std::vector{3.0, 3.1}));
  CHECK_FALSE(work_doubles_time({}, {}));
  CHECK_FALSE(work_doubles_time(std::vector{0.0}, std::vector{0.0}));
  // One lucky run of the single work: the pairs still show it.
  CHECK(*work_doubles_time(std::vector{0.5, 1.0, 1.0, 1.0, 1.0}, std::vector{2.0, 2.0, 2.0, 2.0, 2.0}));
}

TEST_CASE("a level that the curve hides is measured inside the system's size") {
  MachineBench bench;
  bench.runner.levels[1].bytes_per_s = 195e9; // L1 and L2 look alike
  const Machine machine = bench.measure();
  CHECK(lists(machine, "L2", 1, "curve"));
  CHECK(lists(machine, "L1", 1, "system"));
  CHECK(bandwidth_ceiling(machine, "L1", 1)->per_s == Catch::Approx(200e9).epsilon(0.01));
  CHECK(*level_for(machine, 16 * kKiB, 1) == "L1");
}

TEST_CASE("a machine that names no caches has its levels from the curve") {
  MachineBench bench;
  bench.environment.caches.clear();
  const Machine machine = bench.measure();
  CHECK(bandwidth_ceiling(machine, "L2", 1)->per_s == Catch::Approx(100e9).epsilon(0.01));
  CHECK(bandwidth_ceiling(machine, "DRAM", 1)->per_s == Catch::Approx(15e9).epsilon(0.01));
}

TEST_CASE("little memory leaves DRAM out and says so") {
  MachineBench bench;
  bench.environment.memory_available_bytes = 32 * kMiB;
  const Machine machine = bench.measure();
  CHECK(bench.runner.largest_bytes <= 8 * kMiB);
  CHECK_FALSE(bandwidth_ceiling(machine, "DRAM", 1));
  REQUIRE_FALSE(machine.notes.empty());
  CHECK(machine.notes.front().find("DRAM was not measured") != std::string::npos);
}

TEST_CASE("a machine of one core has no ceilings of two") {
  MachineBench bench;
  bench.environment.cores = 1;
  bench.environment.cpus = {0};
  const Machine machine = bench.measure();
  CHECK(compute_ceiling(machine, "f32", "fma", 1).has_value());
  CHECK_FALSE(compute_ceiling(machine, "f32", "fma", 2));
  CHECK_FALSE(bandwidth_ceiling(machine, "L1", 2));
  CHECK_FALSE(level_for(machine, 1, 2));
}

TEST_CASE("non-temporal stores are left out where there are none") {
  MachineBench bench;
  bench.runner.non_temporal = false;
  const Machine machine = bench.measure();
  CHECK(std::none_of(machine.bandwidth.begin(), machine.bandwidth.end(),
                     [](const BandwidthCeiling& entry) { return entry.kind.ends_with("_nt"); }));
}

TEST_CASE("lookups between the measured thread counts") {
  Machine machine;
  machine.environment.cores = 8;
  machine.compute = {{"fma", "f32", "avx2", 1, 100, 90, 110, "measured"},
                     {"fma", "f32", "avx2", 8, 700, 650, 720, "measured"}};
  machine.bandwidth = {{"DRAM", "read", 1, 15, 14, 16, 1, "measured"}, {"DRAM", "read", 8, 40, 39, 41, 1, "measured"}};
  machine.levels = {{"L1", 1, 32 * kKiB, "curve"},  {"L2", 1, 512 * kKiB, "curve"},
                    {"L3", 1, 16 * kMiB, "curve"},  {"DRAM", 1, std::nullopt, "curve"},
                    {"L1", 8, 256 * kKiB, "curve"}, {"L2", 8, 4 * kMiB, "curve"},
                    {"L3", 8, 16 * kMiB, "curve"},  {"DRAM", 8, std::nullopt, "curve"}};

  CHECK(compute_ceiling(machine, "f32", "fma", 4)->per_s == Catch::Approx(400));
  CHECK(compute_ceiling(machine, "f32", "fma", 4)->origin == "scaled");
  CHECK(compute_ceiling(machine, "f32", "fma", 8)->per_s == 700);
  CHECK(bandwidth_ceiling(machine, "DRAM", 2)->per_s == Catch::Approx(30));
  CHECK(bandwidth_ceiling(machine, "DRAM", 4)->per_s == Catch::Approx(40));
  CHECK_FALSE(compute_ceiling(machine, "f32", "fma", 9));
  CHECK_FALSE(compute_ceiling(machine, "f32", "fma", 0));
  CHECK_FALSE(compute_ceiling(machine, "bf16", "fma", 1));
  CHECK_FALSE(bandwidth_ceiling(machine, "L2", 1));

  CHECK(*level_for(machine, 20 * kKiB, 1) == "L1");
  CHECK(*level_for(machine, 60 * kKiB, 1) == "L2");
  CHECK(*level_for(machine, 60 * kKiB, 2) == "L1"); // private caches add up
  CHECK(*level_for(machine, 240 * kKiB, 8) == "L1");
  CHECK(*level_for(machine, 12 * kMiB, 1) == "L3");
  CHECK(*level_for(machine, 20 * kMiB, 4) == "DRAM"); // a shared one does not
  CHECK(*level_for(machine, 20 * kMiB, 8) == "DRAM");
  CHECK_FALSE(level_for(Machine{}, 1, 1));
}

TEST_CASE("a cache that threads share is divided among them") {
  Environment environment = two_cores();
  auto one = cache_shares(environment, 1);
  auto two = cache_shares(environment, 2);
  CHECK(one[0].bytes == 32 * kKiB);
  CHECK(two[0].bytes == 32 * kKiB);
  CHECK(one[2].bytes == 16 * kMiB);
  CHECK(two[2].bytes == 8 * kMiB);
  environment.cores = 4; // two threads a core
  CHECK(cache_shares(environment, 4)[0].bytes == 16 * kKiB);
}

TEST_CASE("ladders and largest sets") {
  const auto ladder = working_set_ladder(64 * kKiB);
  CHECK(ladder.front() == 4 * kKiB);
  CHECK(ladder.back() == 64 * kKiB);
  CHECK(ladder.size() == 9);
  CHECK(std::all_of(ladder.begin(), ladder.end(), [](std::int64_t bytes) { return bytes % 512 == 0; }));
  Environment environment = two_cores();
  CHECK(largest_working_set(environment) == 256 * kMiB);
  environment.caches.back().size_bytes = 256 * kMiB;
  CHECK(largest_working_set(environment) == 1024 * kMiB);
  environment.memory_available_bytes = 400 * kMiB;
  CHECK(largest_working_set(environment) == 100 * kMiB);
  environment.memory_available_bytes = 0;
  CHECK(largest_working_set(environment) == kMiB);
}

TEST_CASE("every runnable instruction set computes the same exponential") {
  std::set<std::string> names;
  for (const ProbeTable* table : runnable_probe_tables()) {
    names.insert(table->isa);
    constexpr std::size_t kCount = 4096;
    alignas(64) static float in[kCount];
    alignas(64) static float out[kCount];
    for (std::size_t i = 0; i < kCount; ++i)
      in[i] = -87.0F + 175.0F * static_cast<float>(i) / static_cast<float>(kCount);
    table->exponential(in, out, kCount);
    double worst = 0;
    for (std::size_t i = 0; i < kCount; ++i)
      worst = std::max(worst, std::abs(static_cast<double>(out[i]) / std::exp(static_cast<double>(in[i])) - 1));
    CAPTURE(table->isa);
    CHECK(worst < 5e-7);
  }
  CHECK(names.count("baseline") == 1);
}

TEST_CASE("bandwidth kernels touch what they say") {
  for (const ProbeTable* table : runnable_probe_tables()) {
    CAPTURE(table->isa);
    constexpr std::size_t kCount = 256;
    alignas(64) float a[kCount + 16];
    alignas(64) float b[kCount];
    alignas(64) float c[kCount];
    const auto reset = [&] {
      std::fill(std::begin(a), std::end(a), -1.0F);
      for (std::size_t i = 0; i < kCount; ++i) {
        b[i] = static_cast<float>(i);
        c[i] = 2;
      }
    };
    const auto holds = [&](const auto& expected) {
      for (std::size_t i = 0; i < kCount; ++i)
        if (a[i] != expected(i))
          return false;
      return a[kCount] == -1.0F;
    };
    const BandwidthProbes& probes = table->bandwidth;
    for (const auto write : {probes.write, probes.write_nt})
      if (write != nullptr) {
        reset();
        write(a, kCount, 2);
        CHECK(holds([](std::size_t) { return 1.0F; }));
      }
    for (const auto copy : {probes.copy, probes.copy_nt})
      if (copy != nullptr) {
        reset();
        copy(a, b, kCount, 2);
        CHECK(holds([&](std::size_t i) { return b[i]; }));
      }
    for (const auto triad : {probes.triad, probes.triad_nt})
      if (triad != nullptr) {
        reset();
        triad(a, b, c, kCount, 2);
        CHECK(holds([&](std::size_t i) { return b[i] + 3 * c[i]; }));
      }
    reset();
    probes.read(a, kCount, 3);
    CHECK(holds([](std::size_t) { return -1.0F; }));
  }
}

TEST_CASE("a team runs every thread once and times the whole") {
  ThreadTeam team(std::vector<int>{allowed_cpus().front(), allowed_cpus().back()});
  CHECK(team.size() == 2);
  std::atomic<int> prepared = 0;
  std::atomic<int> early = 0;
  std::atomic<int> ran = 0;
  for (int round = 1; round <= 20; ++round) {
    const double elapsed_s = team.run([&](int) { ++prepared; },
                                      [&](int thread) {
                                        early += prepared < 2 * round;
                                        ran += 1 + 10 * thread;
                                      });
    CHECK(elapsed_s >= 0);
  }
  CHECK(ran == 20 * 12);
  CHECK(early == 0);
  CHECK(ThreadTeam(std::vector<int>{}).run([](int) {}, [](int) {}) == 0);
}

TEST_CASE("the probes of this machine run") {
  Environment environment = read_environment({"/", allowed_cpus()});
  SystemProbeRunner runner(environment);
  const auto probes = runner.compute_probes();
  REQUIRE_FALSE(probes.empty());
  for (std::size_t i = 0; i < probes.size(); ++i) {
    CHECK(probes[i].work_per_iteration > 0);
    CHECK(runner.run_compute(i, 1, 100) > 0);
  }
  for (const Traffic kind : kAllTraffic)
    if (runner.offers(kind)) {
      CHECK(runner.run_traffic(kind, environment.cores, 3 * 512 * 8, 2) > 0);
      for (int i = 0; i < 3; ++i)
        CHECK(runner.run_stream(kind, 1, 3 * 512 * 64, 3 * 512 * 16) > 0);
    }
  for (const auto& entry : runner.absent_probes())
    CHECK_FALSE(entry.reason.empty());
}
