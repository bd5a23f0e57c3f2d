#include "profilers/perf/counters.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/fake_perf.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/text.hpp"

#include <cerrno>
#include <limits>
#include <set>

using namespace attnprof::profilers;
using attnprof::tests::FakeClock;
using attnprof::tests::FakePerf;
using attnprof::tests::FakeSystem;
using attnprof::tests::mentions;

namespace {

const FakePerf::Key kCyclesKey{0, 0};
const FakePerf::Key kInstructionsKey{0, 1};
const FakePerf::Key kMissesKey{4, 0x412e};
const FakePerf::Key kL1Key{4, 0x151};
const FakePerf::Key kL2Key{4, 0x1ff1};
const FakePerf::Key kScalarKey{4, 0x2c7};
const FakePerf::Key kVectorKey{4, 0x20c7};
const FakePerf::Key kTaskClockKey{1, 1};
const FakePerf::Key kMigrationsKey{1, 4};

struct CountersBench {
  std::shared_ptr<FakePerf> perf = std::make_shared<FakePerf>();
  CounterHost host;
  FakeClock clock;
  int runs = 0;

  CountersBench() {
    host.paranoid_level = 2;
    perf->names["FP_ARITH_INST_RETIRED:SCALAR_SINGLE"] = {4, 0x2c7, 0, 0};
    perf->names["FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE"] = {4, 0x20c7, 0, 0};
    perf->names["LONGEST_LAT_CACHE:MISS"] = {4, 0x412e, 0, 0};
    perf->names["L1D:REPLACEMENT"] = {4, 0x151, 0, 0};
    perf->names["L2_LINES_IN:ALL"] = {4, 0x1ff1, 0, 0};
  }
  CheckKernel kernel(CounterQuantity quantity, const std::string& what, double expected, FakePerf::Key key,
                     double count) {
    return {quantity, what, expected, {}, [this, key, count] { perf->advance(0, {{key, count}}, 1e6); }};
  }
  Counters counters() {
    return {perf,
            host,
            {kernel(CounterQuantity::kCycles, "cycles of a chain", 1e6, kCyclesKey, 1.01e6),
             kernel(CounterQuantity::kInstructions, "instructions of a chain", 1e6, kInstructionsKey, 1.002e6),
             kernel(CounterQuantity::kL1Misses, "line fills of a read", 1e5, kL1Key, 1e5),
             kernel(CounterQuantity::kL2Misses, "line fills of a read", 1e5, kL2Key, 1.02e5),
             kernel(CounterQuantity::kLlcMisses, "line fills of a read", 1e5, kMissesKey, 0.98e5),
             kernel(CounterQuantity::kFpOps, "FLOPs of scalars", 1e6, kScalarKey, 1e6),
             kernel(CounterQuantity::kFpOps, "FLOPs of vectors", 8e6, kVectorKey, 1e6)}};
  }
  /// 1 ms on each of three threads.
  void body() {
    ++runs;
    for (const int thread : {10, 11, 12})
      perf->advance(thread,
                    {{kCyclesKey, 2e6},
                     {kInstructionsKey, 3e6},
                     {kL1Key, 900},
                     {kL2Key, 400},
                     {kMissesKey, 100},
                     {kScalarKey, 1000},
                     {kVectorKey, 5000},
                     {kTaskClockKey, 1e6}},
                    1e6);
    clock.advance_s(1e-3);
  }
  CounterPass measure(Counters& counters) {
    return counters.measure([this] { body(); }, nullptr, {}, clock);
  }
  CounterPass measure() {
    Counters fresh = counters();
    return measure(fresh);
  }
};

const CounterVerdict& of(const std::vector<CounterVerdict>& verdicts, CounterQuantity quantity) {
  const auto found =
      std::find_if(verdicts.begin(), verdicts.end(), [&](const auto& v) { return v.quantity == quantity; });
  REQUIRE(found != verdicts.end());
  return *found;
}

} // namespace

TEST_CASE("counters: where a PMU answers, every figure of one run is filled, all threads together (BUG-135)") {
  CountersBench bench;
  Counters counters = bench.counters();
  CHECK(counters.has_pmu());
  const CounterPass pass = bench.measure(counters);
  INFO(pass.origin);
  CHECK(pass.totals.cycles == 6'000'000);
  CHECK(pass.totals.instructions == 9'000'000);
  CHECK(pass.totals.l1_misses == 2700);
  CHECK(pass.totals.l2_misses == 1200);
  CHECK(pass.totals.llc_misses == 300);
  CHECK(pass.totals.dram_bytes == 300 * 64);
  CHECK(pass.totals.fp_ops == 3 * (1000 + 8 * 5000));
  CHECK(*pass.totals.task_clock_s == Catch::Approx(3e-3));
  CHECK(pass.totals.cpu_migrations == 0.0);
  CHECK(pass.totals.counter_coverage == 1.0);
  CHECK(pass.totals.counter_passes == 2); // seven events, four counters (BUG-132)
  CHECK(*pass.totals.counter_time_s == Catch::Approx(1e-3).epsilon(0.01));
  CHECK(pass.origin.starts_with("counter: cycles, instructions, l1_misses (fake::L1D:REPLACEMENT), l2_misses "
                                "(fake::L2_LINES_IN:ALL), llc_misses (fake::LONGEST_LAT_CACHE:MISS)"));
  CHECK(mentions(pass.origin, "fake::FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE")); // BUG-126: what was asked for
  CHECK(mentions(pass.origin, "dram_bytes is llc_misses x 64 B"));
  CHECK_FALSE(mentions(pass.origin, "unavailable"));
  CHECK(bench.perf->open_files() == 0);
  CHECK(bench.perf->most_open == 3 * 6); // three threads, four events of the PMU and two of the kernel
}

TEST_CASE("counters: what is multiplexed is scaled and says so") {
  CountersBench bench;
  bench.perf->running_share = 0.25;
  const CounterPass pass = bench.measure();
  CHECK(pass.totals.cycles == 6'000'000);
  CHECK(*pass.totals.counter_coverage == Catch::Approx(0.25));
  CHECK(mentions(pass.origin, "scaled from 25 % of the time"));
}

TEST_CASE("counters: a PMU that never schedules a counter gives none") {
  CountersBench bench;
  Counters counters = bench.counters();
  CHECK(counters.has_pmu());
  bench.perf->running_share = 0;
  const CounterPass pass = bench.measure(counters);
  CHECK_FALSE(pass.totals.cycles);
  CHECK_FALSE(pass.totals.fp_ops);
  CHECK(mentions(pass.origin, "cycles: it never ran"));
}

TEST_CASE("counters: each refusal is a reason of its own, with what to do (BUG-121, BUG-130)") {
  std::set<std::string> reasons;
  const auto refusal = [&](int error, const auto& change) {
    CountersBench bench;
    bench.perf->refuses_all = error;
    change(bench.host);
    const CounterPass pass = bench.measure();
    CHECK(bench.runs == 0); // nothing to count: nothing is run
    CHECK_FALSE(pass.totals.cycles);
    CHECK_FALSE(pass.totals.counter_time_s);
    CHECK(pass.origin.starts_with("unavailable: cycles, instructions, l1_misses, l2_misses, llc_misses, fp_ops"));
    CHECK(pass.origin == bench.counters().summary());
    reasons.insert(pass.origin);
    return pass.origin;
  };
  const auto as_is = [](CounterHost&) {};
  CHECK(mentions(refusal(ENOENT, [](CounterHost& host) { host.hypervisor = true; }), "virtual machine exposes no PMU"));
  CHECK(mentions(refusal(EOPNOTSUPP, as_is), "kernel knows no PMU"));
  const std::string paranoid = refusal(EACCES, [](CounterHost& host) { host.paranoid_level = 4; });
  CHECK(mentions(paranoid, "kernel.perf_event_paranoid is 4"));
  CHECK(mentions(paranoid, "sysctl"));
  CHECK(mentions(refusal(EACCES, as_is), "CAP_PERFMON is missing"));
  CHECK(mentions(refusal(EPERM, [](CounterHost& host) { host.seccomp_filter = true; }), "the seccomp filter"));
  CHECK(mentions(refusal(ENOSYS, as_is), "built without it"));
  CHECK(mentions(refusal(EMFILE, as_is), "ulimit -n"));
  CHECK(mentions(refusal(EBUSY, as_is), "nmi_watchdog"));
  CHECK(reasons.size() == 8);
}

TEST_CASE("counters: without a PMU the kernel's own counters still count") {
  CountersBench bench;
  for (const FakePerf::Key& key : {kCyclesKey, kInstructionsKey, kL1Key, kL2Key, kMissesKey, kScalarKey, kVectorKey})
    bench.perf->refused[key] = ENOENT;
  bench.perf->refused[{3, 0x10000}] = bench.perf->refused[{3, 0x10002}] = ENOENT;
  Counters counters = bench.counters();
  CHECK_FALSE(counters.has_pmu());
  const CounterPass pass = bench.measure(counters);
  CHECK(*pass.totals.task_clock_s == Catch::Approx(3e-3));
  CHECK_FALSE(pass.totals.cycles);
  CHECK_FALSE(pass.totals.llc_misses);
  CHECK(pass.origin.starts_with("counter: task_clock_s, cpu_migrations by perf_event_open"));
  CHECK(mentions(pass.origin,
                 "unavailable: cycles, instructions, l1_misses, l2_misses, llc_misses, fp_ops: perf_event_open"));
}

TEST_CASE("counters: an event that the processor lacks is named, the others count") {
  CountersBench bench;
  bench.perf->names.clear();
  bench.perf->refused[{3, 0x10002}] = ENOENT;
  const CounterPass pass = bench.measure();
  CHECK(pass.totals.cycles == 6'000'000);
  CHECK_FALSE(pass.totals.fp_ops);
  CHECK(mentions(pass.origin, "fp_ops: unknown event"));
  CHECK(mentions(pass.origin, "llc_misses: perf_event_open"));
}

TEST_CASE("counters: AMD's second level is the sum of its loads and prefetches, or nothing") {
  CountersBench bench;
  bench.perf->names.erase("L2_LINES_IN:ALL");
  const FakePerf::Key hits{4, 0x171};
  const FakePerf::Key misses{4, 0x172};
  bench.perf->names["CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C"] = {4, 0x1ff1, 0, 0};
  bench.perf->names["L2_PREFETCH_HIT_L3:ANY"] = {4, 0x171, 0, 0};
  Counters partly = bench.counters();
  CHECK(mentions(of(partly.survey(), CounterQuantity::kL2Misses).reason, "unknown event"));
  bench.perf->names["L2_PREFETCH_MISS_L3:ANY"] = {4, 0x172, 0, 0};
  Counters counters = bench.counters(); // the loop of known work only moves the first of the three
  CHECK(of(counters.survey(), CounterQuantity::kL2Misses).verdict == ProbeVerdict::kOk);
  const CounterPass pass = counters.measure(
      [&] {
        bench.clock.advance_s(1e-3);
        bench.perf->advance(10, {{kCyclesKey, 1e6}, {kInstructionsKey, 1e6}, {kL2Key, 5}, {hits, 60}, {misses, 700}},
                            1e6);
      },
      nullptr, {}, bench.clock);
  CHECK(pass.totals.l2_misses == 765);
}

TEST_CASE("counters: memory controllers are counted once for the machine, and take the place of misses") {
  CountersBench bench;
  const FakePerf::Key reads{20, 0x304};
  const FakePerf::Key writes{20, 0xc04};
  bench.perf->controllers = {{"uncore_imc_0/cas_count_read", {20, 0x304, 0, 0}, 0, 64},
                             {"uncore_imc_0/cas_count_write", {20, 0xc04, 0, 0}, 0, 64}};
  const CheckKernel known{CounterQuantity::kDramTraffic, "bytes of a read", 64e5, {}, [&] {
                            bench.perf->advance(0, {{reads, 1e5}}, 1e6);
                          }};
  Counters counters(bench.perf, bench.host,
                    {known, bench.kernel(CounterQuantity::kCycles, "cycles of a chain", 1e6, kCyclesKey, 1e6),
                     bench.kernel(CounterQuantity::kInstructions, "instructions", 1e6, kInstructionsKey, 1e6),
                     bench.kernel(CounterQuantity::kLlcMisses, "line fills", 1e5, kMissesKey, 1e5)});
  const auto body = [&] {
    bench.clock.advance_s(1e-3);
    bench.perf->advance(10, {{kCyclesKey, 1e6}, {kInstructionsKey, 1e6}, {kMissesKey, 50}, {reads, 100}, {writes, 30}},
                        1e6);
  };
  const CounterPass pass = counters.measure(body, nullptr, {}, bench.clock);
  CHECK(pass.totals.dram_bytes == 130 * 64); // not once for each of three threads
  CHECK(pass.totals.dram_source == "controllers");
  CHECK(mentions(pass.origin, "dram_traffic (uncore_imc_0/cas_count_read + uncore_imc_0/cas_count_write)"));
  CHECK(mentions(pass.origin, "of everything on the machine"));
  bench.perf->refused[reads] = EACCES; // they need more rights than counters of a thread
  Counters refused(bench.perf, bench.host,
                   {known, bench.kernel(CounterQuantity::kCycles, "cycles of a chain", 1e6, kCyclesKey, 1e6),
                    bench.kernel(CounterQuantity::kInstructions, "instructions", 1e6, kInstructionsKey, 1e6),
                    bench.kernel(CounterQuantity::kLlcMisses, "line fills", 1e5, kMissesKey, 1e5)});
  CHECK(of(refused.survey(), CounterQuantity::kDramTraffic).verdict == ProbeVerdict::kAbsent);
  const CounterPass misses = refused.measure(body, nullptr, {}, bench.clock);
  CHECK(misses.totals.dram_bytes == 50 * 64);
  CHECK(misses.totals.dram_source == "misses");
}

TEST_CASE("counters: memory controllers are found by what the kernel lists") {
  FakeSystem system;
  const std::string intel = "sys/bus/event_source/devices/uncore_imc_1/";
  system.write(intel + "type", "21");
  system.write(intel + "cpumask", "0,28");
  system.write(intel + "format/event", "config:0-7");
  system.write(intel + "format/umask", "config:8-15");
  system.write(intel + "events/cas_count_read", "event=0x04,umask=0x03");
  system.write(intel + "events/cas_count_read.scale", "6.103515625e-5");
  system.write(intel + "events/cas_count_read.unit", "MiB");
  system.write(intel + "events/clockticks", "event=0x00");
  system.write("sys/bus/event_source/devices/uncore_imc_free_running_0/type", "30");
  const auto listed = memory_controller_events(system.root());
  REQUIRE(listed.size() == 2); // one a socket
  CHECK(listed[0].code == EventCode{21, 0x304, 0, 0});
  CHECK(listed[0].bytes == Catch::Approx(64));
  CHECK(listed[1].processor == 28);
  CHECK(listed[0].name == "uncore_imc_1/cas_count_read");

  FakeSystem amd;
  const std::string umc = "sys/bus/event_source/devices/amd_umc_0/";
  amd.write(umc + "type", "12");
  amd.write(umc + "cpumask", "0");
  amd.write(umc + "format/event", "config:0-7");
  CHECK(memory_controller_events(amd.root()).empty()); // the mask has no place
  amd.write(umc + "format/rdwrmask", "config:8-9");
  const auto both = memory_controller_events(amd.root());
  REQUIRE(both.size() == 2);
  CHECK(both[0].code == EventCode{12, 0x10a, 0, 0});
  CHECK(both[1].code == EventCode{12, 0x20a, 0, 0});
  CHECK(memory_controller_events("/nowhere").empty());
  CHECK_FALSE(placed_event(amd.root() / umc, "event=nonsense"));
}

TEST_CASE("counters: Arm's scalable vectors count by 128 bits") {
  CountersBench bench;
  bench.perf->names = {{"FP_FIXED_OPS_SPEC", {4, 0x80c1, 0, 0}}, {"FP_SCALE_OPS_SPEC", {4, 0x80c0, 0, 0}}};
  bench.perf->vector_bits = 256;
  const auto choices = hardware_choices(CounterQuantity::kFpOps, *bench.perf);
  REQUIRE(choices.size() == 1);
  REQUIRE(choices[0].events.size() == 2);
  CHECK(choices[0].events[0].weight == 1);
  CHECK(choices[0].events[1].weight == 2);
}

TEST_CASE("counters: signals are waited out, short and failed reads are not believed") {
  CountersBench bench;
  bench.perf->interrupts = 7;
  Counters counters = bench.counters();
  counters.survey();
  bench.perf->interrupts = 5;
  CHECK(bench.measure(counters).totals.cycles == 6'000'000);
  bench.perf->read_bytes = 16;
  const CounterPass cut = bench.measure(counters);
  CHECK_FALSE(cut.totals.cycles);
  CHECK(mentions(cut.origin, "16 of 24 bytes"));
  bench.perf->read_bytes = -EIO;
  CHECK(mentions(bench.measure(counters).origin, "reading it failed"));
  CHECK(bench.perf->open_files() == 0);
}

TEST_CASE("counters: absurd values leave their column empty and the others alone (BUG-118)") {
  CountersBench bench;
  Counters counters = bench.counters();
  counters.survey();
  for (const std::uint64_t value : {std::uint64_t{1} << 60U, std::numeric_limits<std::uint64_t>::max() - 5}) {
    bench.perf->absurd = {{kVectorKey, value}};
    const CounterPass pass = bench.measure(counters);
    CHECK_FALSE(pass.totals.fp_ops);
    CHECK(pass.totals.cycles == 6'000'000);
    CHECK(mentions(pass.origin, "fp_ops: fake::FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE: its value went below zero"));
  }
}

TEST_CASE("counters: a counter that fails its self-test is untrusted and not used (BUG-091, BUG-125, BUG-126)") {
  CountersBench bench;
  bench.perf->factor[kVectorKey] = 0.4999;
  Counters counters = bench.counters();
  const CounterVerdict& fp = of(counters.survey(), CounterQuantity::kFpOps);
  CHECK(fp.verdict == ProbeVerdict::kLimited);
  CHECK(fp.events.empty());
  CHECK(mentions(fp.reason, "counts 0.4999 of the 8000000 FLOPs of vectors"));
  const CounterPass pass = bench.measure(counters);
  CHECK_FALSE(pass.totals.fp_ops);
  CHECK(pass.totals.cycles == 6'000'000);
  CHECK(mentions(pass.origin, "fp_ops: untrusted"));

  bench.perf->factor = {{kMissesKey, 0.75}};
  const CounterPass quarter = bench.measure();
  CHECK_FALSE(quarter.totals.dram_bytes); // a copy that reads 25 % low
  CHECK(quarter.totals.fp_ops);
  CHECK(mentions(quarter.origin, "llc_misses: untrusted"));
}

TEST_CASE("counters: a counter that no loop tests is not used") {
  CountersBench bench;
  Counters counters(bench.perf, bench.host, {});
  CHECK(mentions(of(counters.survey(), CounterQuantity::kCycles).reason, "untested"));
  CHECK_FALSE(counters.has_pmu());
  CHECK_FALSE(bench.measure(counters).totals.cycles);
}

TEST_CASE("counters: counters that answer 0 are no counters (BUG-119)") {
  CountersBench bench;
  bench.perf->factor = {{kInstructionsKey, 0}, {kCyclesKey, 0}};
  Counters counters = bench.counters();
  CHECK(of(counters.survey(), CounterQuantity::kInstructions).verdict == ProbeVerdict::kAbsent);
  CHECK(mentions(of(counters.survey(), CounterQuantity::kInstructions).reason, "counts nothing"));

  bench.perf->factor.clear();
  Counters silent = bench.counters();
  silent.survey();
  bench.perf->factor = {{kInstructionsKey, 0}}; // falls silent later
  const CounterPass pass = bench.measure(silent);
  CHECK_FALSE(pass.totals.instructions);
  CHECK_FALSE(pass.totals.cycles);
  CHECK_FALSE(pass.totals.llc_misses);
  CHECK(mentions(pass.origin, "counts nothing"));
}

TEST_CASE("counters: a thread that starts while it is counted makes the count absent") {
  CountersBench bench;
  Counters counters = bench.counters();
  counters.survey();
  bench.perf->on_start = [&] { bench.perf->tasks = {10, 11, 12, 13}; };
  const CounterPass pass = bench.measure(counters);
  CHECK_FALSE(pass.totals.cycles);
  CHECK(mentions(pass.origin, "threads started"));
}

TEST_CASE("counters: a body that is too long is not counted") {
  CountersBench bench;
  Counters counters = bench.counters();
  CounterPassOptions options;
  options.most_s = 1.5e-3; // two passes of 1 ms
  const CounterPass pass = counters.measure([&] { bench.body(); }, nullptr, options, bench.clock);
  CHECK_FALSE(pass.totals.cycles);
  CHECK(bench.runs == 1);
  CHECK(mentions(pass.origin, "--timeout"));
}

TEST_CASE("counters: what prepares a run is not counted") {
  CountersBench bench;
  Counters counters = bench.counters();
  const CounterPass pass = counters.measure([&] { bench.body(); }, [&] { bench.body(); }, {}, bench.clock);
  CHECK(pass.totals.cycles == 6'000'000);
}

TEST_CASE("counters: processors of two kinds are refused, of one kind are aimed at (BUG-123)") {
  const FakeSystem system;
  system.write("sys/bus/event_source/devices/cpu_core/type", "4");
  system.write("sys/bus/event_source/devices/cpu_atom/type", "10");
  system.write("proc/self/status", "Name:\tx\nCapEff:\t0000004000000000\nSeccomp:\t2");
  Environment environment;
  environment.core_kinds = {{"cpu_core", {0, 1}}, {"cpu_atom", {2, 3}}};
  environment.cpus = {0, 1, 2, 3};
  CountersBench bench;
  bench.host = read_counter_host(system.root(), environment);
  CHECK(bench.host.seccomp_filter == true);
  CHECK(bench.host.may_use_perfmon == true);
  CHECK_FALSE(bench.host.kind_pmu);
  CHECK(mentions(bench.measure().origin, "hybrid: unsupported: cpu_core and cpu_atom"));

  environment.cpus = {2, 3};
  bench.host = read_counter_host(system.root(), environment);
  CHECK(bench.host.kind_pmu == 10U);
  Counters counters = bench.counters();
  const FakePerf::Key atom{0, std::uint64_t{10} << 32U};
  bench.perf->refused[atom] = EBUSY;
  CHECK(mentions(of(counters.survey(), CounterQuantity::kCycles).reason, "another user"));
}

TEST_CASE("counters: the real kernel answers with a verdict and a reason for each figure") {
  Counters counters(std::make_shared<LinuxPerfSystem>(), read_counter_host("/", {}), check_kernels(64));
  for (const CounterVerdict& verdict : counters.survey()) {
    INFO(name_of(verdict.quantity));
    CHECK_FALSE(verdict.reason.empty());
    CHECK(verdict.events.empty() == (verdict.verdict != ProbeVerdict::kOk));
  }
  FakeClock clock;
  CHECK_FALSE(counters.measure([&] { clock.advance_s(1e-3); }, nullptr, {}, clock).origin.empty());
}

TEST_CASE("counters: the loops of known work run on this processor") {
  for (const CheckKernel& kernel : check_kernels(64)) {
    INFO(kernel.what);
    CHECK(kernel.expected > 1e5);
    if (kernel.prepare)
      kernel.prepare();
    CHECK_NOTHROW(kernel.run());
  }
}
