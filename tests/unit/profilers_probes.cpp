#include "profilers/probes.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/text.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <vector>

using namespace attnprof::profilers;
using attnprof::tests::FakeClock;
using attnprof::tests::FakeHost;
using attnprof::tests::FakeSystem;
using attnprof::tests::mentions;

namespace {

Environment plain() {
  Environment environment;
  environment.cores = 2;
  environment.physical_cores = 2;
  environment.cpus = {0, 1};
  return environment;
}

const Probe& named(const std::vector<Probe>& probes, const std::string& name) {
  const auto found = std::find_if(probes.begin(), probes.end(), [&](const Probe& probe) { return probe.name == name; });
  REQUIRE(found != probes.end());
  return *found;
}

} // namespace

TEST_CASE("counters: each refusal has its own sentence (BUG-121, BUG-130)") {
  const Environment environment = plain();
  const Probe no_pmu = probe_counters({ENOENT, std::nullopt}, 2, environment);
  const Probe paranoid = probe_counters({EACCES, std::nullopt}, 4, environment);
  const Probe filtered = probe_counters({EPERM, std::nullopt}, 1, environment);
  const Probe missing = probe_counters({ENOSYS, std::nullopt}, std::nullopt, environment);
  const Probe other = probe_counters({EMFILE, std::nullopt}, 2, environment);
  std::set<std::string> reasons;
  for (const Probe* probe : {&no_pmu, &paranoid, &filtered, &missing, &other}) {
    CHECK(probe->verdict == ProbeVerdict::kAbsent);
    CHECK(mentions(probe->reason, "perf_event_open"));
    reasons.insert(probe->reason);
  }
  CHECK(reasons.size() == 5);
  CHECK(mentions(no_pmu.reason, "PMU"));
  CHECK(mentions(paranoid.reason, "perf_event_paranoid is 4"));
  CHECK(mentions(paranoid.fix, "sysctl"));
  CHECK(mentions(filtered.reason, "seccomp"));
  CHECK(mentions(missing.reason, "without it"));
  CHECK(mentions(other.reason, "errno"));
}

TEST_CASE("counters that answer 0 are no counters (BUG-119)") {
  const Probe silent = probe_counters({0, 0}, 2, plain());
  CHECK(silent.verdict == ProbeVerdict::kAbsent);
  CHECK(mentions(silent.reason, "count nothing"));
  CHECK(probe_counters({0, std::nullopt}, 2, plain()).verdict == ProbeVerdict::kAbsent);

  const Probe working = probe_counters({0, 30'000}, 2, plain());
  CHECK(working.verdict == ProbeVerdict::kOk);

  Environment hybrid = plain();
  hybrid.core_kinds = {{"cpu_core", {0}}, {"cpu_atom", {1}}};
  const Probe split = probe_counters({0, 30'000}, 2, hybrid);
  CHECK(split.verdict == ProbeVerdict::kLimited); // BUG-123
  CHECK(mentions(split.reason, "cpu_atom"));
}

TEST_CASE("a virtual machine without a PMU is named as one") {
  Environment environment = plain();
  environment.hypervisor = true;
  CHECK(mentions(probe_counters({ENOENT, std::nullopt}, 2, environment).reason, "virtual machine"));
}

TEST_CASE("CUDA and CUPTI") {
  const Probe none = probe_cuda({});
  CHECK(none.verdict == ProbeVerdict::kAbsent);
  CHECK(mentions(none.reason, "libcuda.so.1"));
  CHECK(mentions(probe_cuda({true, 100, 0}).reason, "no device"));
  CHECK(mentions(probe_cuda({true, 0, 0}).reason, "no device"));
  CHECK(mentions(probe_cuda({true, 803, 0}).reason, "803"));
  const Probe two = probe_cuda({true, 0, 2});
  CHECK(two.verdict == ProbeVerdict::kOk);
  CHECK(mentions(two.reason, "2 devices"));

  CHECK(probe_cupti(false, two, false).verdict == ProbeVerdict::kAbsent);
  CHECK(probe_cupti(true, none, false).verdict == ProbeVerdict::kAbsent);
  CHECK(probe_cupti(true, two, false).verdict == ProbeVerdict::kOk);
  const Probe restricted = probe_cupti(true, two, true);
  CHECK(restricted.verdict == ProbeVerdict::kLimited); // BUG-127: in words, not "error 35"
  CHECK(mentions(restricted.reason, "administrators"));
}

TEST_CASE("a GPU in a container whose counters are locked still has times (BUG-128)") {
  const auto rows = probe_gpu({{true, 0, 1}, true, true});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].verdict == ProbeVerdict::kOk);
  CHECK(rows[1].name == "CUPTI activity");
  CHECK(rows[1].verdict == ProbeVerdict::kOk);
  CHECK(rows[2].verdict == ProbeVerdict::kLimited);
  CHECK_FALSE(rows[2].fix.empty());
  for (const Probe& row : probe_gpu({})) {
    CHECK(row.verdict == ProbeVerdict::kAbsent);
    CHECK_FALSE(row.fix.empty());
  }
}

TEST_CASE("energy totals are named, and their absence explained") {
  const FakeSystem system;
  Environment environment = plain();
  environment.hypervisor = true;
  CHECK(mentions(probe_energy(system.root(), environment).reason, "virtual machine"));
  system.write("sys/class/powercap/intel-rapl:0/name", "package-0");
  system.write("sys/class/powercap/intel-rapl:0/energy_uj", "12345");
  const Probe found = probe_energy(system.root(), environment);
  CHECK(found.verdict == ProbeVerdict::kOk);
  CHECK(mentions(found.reason, "memory is not told"));
}

TEST_CASE("the governor is warned of, fine or unknown (BUG-154)") {
  Environment environment = plain();
  CHECK(probe_governor(environment).verdict == ProbeVerdict::kAbsent);
  CHECK(mentions(probe_governor(environment).reason, "unknown"));
  environment.governor = "powersave";
  CHECK(probe_governor(environment).verdict == ProbeVerdict::kLimited);
  CHECK_FALSE(probe_governor(environment).fix.empty());
  environment.governor = "performance,powersave";
  CHECK(probe_governor(environment).verdict == ProbeVerdict::kLimited);
  environment.governor = "performance";
  CHECK(probe_governor(environment).verdict == ProbeVerdict::kOk);
}

TEST_CASE("turbo, SMT and huge pages") {
  Environment environment = plain();
  CHECK(probe_turbo(environment).verdict == ProbeVerdict::kAbsent);
  CHECK(probe_smt(environment).verdict == ProbeVerdict::kAbsent);
  CHECK(probe_huge_pages(environment).verdict == ProbeVerdict::kAbsent);
  environment.turbo = true;
  environment.smt = true;
  environment.physical_cores = 1;
  environment.huge_pages = "never";
  CHECK(probe_turbo(environment).verdict == ProbeVerdict::kLimited);
  CHECK(probe_smt(environment).verdict == ProbeVerdict::kLimited);
  CHECK(mentions(probe_smt(environment).fix, "--threads 1"));
  CHECK(probe_huge_pages(environment).verdict == ProbeVerdict::kLimited);
  environment.turbo = false;
  environment.smt = false;
  environment.huge_pages = "madvise";
  CHECK(probe_turbo(environment).verdict == ProbeVerdict::kOk);
  CHECK(probe_smt(environment).verdict == ProbeVerdict::kOk);
  CHECK(probe_huge_pages(environment).verdict == ProbeVerdict::kOk);
}

TEST_CASE("threads and quotas") {
  const auto variable = [](std::optional<std::string> value) { return [=](const std::string&) { return value; }; };
  Environment environment = plain();
  CHECK(probe_threads(environment, variable(std::nullopt)).verdict == ProbeVerdict::kOk);
  CHECK(probe_threads(environment, variable("2")).verdict == ProbeVerdict::kOk);
  CHECK(probe_threads(environment, variable("many")).verdict == ProbeVerdict::kOk);
  CHECK(probe_threads(environment, variable("1")).verdict == ProbeVerdict::kLimited);
  CHECK(probe_quota(environment).verdict == ProbeVerdict::kOk);
  environment.quota_cores = 4;
  CHECK(probe_quota(environment).verdict == ProbeVerdict::kOk);
  environment.quota_cores = 1.5;
  environment.cores = 1;
  CHECK(probe_quota(environment).verdict == ProbeVerdict::kLimited);
  CHECK(mentions(probe_quota(environment).reason, "1.50 processors of 2"));
}

TEST_CASE("a debug build is limited (BUG-163)") {
  Environment environment = plain();
  environment.build_type = "Release";
  CHECK(probe_build(environment).verdict == ProbeVerdict::kOk);
  environment.assertions = true;
  CHECK(probe_build(environment).verdict == ProbeVerdict::kLimited);
  CHECK(mentions(probe_build(environment).reason, "debug build"));
}

TEST_CASE("timer and steal") {
  CHECK(probe_timer_quality({20e-9, 25e-9}, "steady_clock", "tsc").verdict == ProbeVerdict::kOk);
  CHECK(mentions(probe_timer_quality({20e-9, 25e-9}, "steady_clock", "tsc").reason, "step 20 ns, 25 ns a read"));
  CHECK(probe_timer_quality({4e-3, 1e-6}, "steady_clock", "jiffies").verdict == ProbeVerdict::kLimited);
  CHECK(probe_timer_quality({}, "steady_clock", std::nullopt).verdict == ProbeVerdict::kAbsent);

  Environment environment = plain();
  CHECK(probe_steal(std::nullopt, 100, environment).verdict == ProbeVerdict::kAbsent);
  CHECK(probe_steal(1, std::nullopt, environment).verdict == ProbeVerdict::kAbsent);
  CHECK(probe_steal(0, 1000, environment).verdict == ProbeVerdict::kOk);
  const Probe stolen = probe_steal(100, 1000, environment);
  CHECK(stolen.verdict == ProbeVerdict::kLimited);
  CHECK(mentions(stolen.reason, "5.0 %"));
  environment.hypervisor = true;
  CHECK(mentions(probe_steal(0, 1000, environment).reason, "not every hypervisor"));
}

TEST_CASE("a core that another hardware thread uses") {
  CHECK(probe_core_sharing({}).verdict == ProbeVerdict::kAbsent);
  CHECK(probe_core_sharing(std::vector{4.0, 3.9, 3.8}).verdict == ProbeVerdict::kOk);
  const Probe shared = probe_core_sharing(std::vector{4.0, 2.1, 3.9, 2.2});
  CHECK(shared.verdict == ProbeVerdict::kLimited);
  CHECK(mentions(shared.reason, "2 of 4 looks"));
  CHECK(mentions(shared.reason, "2.1 independent operations a cycle at least, and 4.0 alone"));
  CHECK(mentions(probe_core_sharing(std::vector{2.0, 2.1}).reason, "throughout"));
}

TEST_CASE("all probes of a made-up host") {
  const FakeSystem system;
  system.write("proc/sys/kernel/perf_event_paranoid", "4");
  system.write("proc/uptime", "1000.00 1900.00");
  system.write("proc/driver/nvidia/params", "Foo: 0\nRmProfilingAdminOnly: 1");
  system.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
  FakeClock clock(30);
  FakeHost probe(clock);
  DoctorHost host;
  host.root = system.root();
  host.try_counter = [] { return CounterTrial{EACCES, std::nullopt}; };
  host.try_cuda = [] { return CudaTrial{true, 0, 1}; };
  host.has_library = [](const std::string& name) { return name == "libcupti.so.12"; };
  host.has_program = [](const std::string& name) { return name == "gnuplot"; };
  host.variable = [](const std::string&) { return std::nullopt; };
  const auto probes = run_probes(plain(), host, clock, probe);

  CHECK(mentions(named(probes, "PMU counters").reason, "paranoid is 4"));
  CHECK(named(probes, "CUDA GPU").verdict == ProbeVerdict::kOk);
  CHECK(named(probes, "CUPTI activity").verdict == ProbeVerdict::kOk);
  CHECK(named(probes, "CUPTI counters").verdict == ProbeVerdict::kLimited);
  CHECK(named(probes, "energy").verdict == ProbeVerdict::kAbsent);
  CHECK(named(probes, "gnuplot").verdict == ProbeVerdict::kOk);
  CHECK(named(probes, "valgrind").verdict == ProbeVerdict::kAbsent);
  CHECK(mentions(named(probes, "timer").reason, "clock source tsc"));
  CHECK(named(probes, "steal").verdict == ProbeVerdict::kOk);
  CHECK(named(probes, "core").verdict == ProbeVerdict::kOk);
  CHECK(mentions(named(probes, "instruction sets").reason, "baseline"));
  std::set<std::string> names;
  for (const Probe& one : probes) {
    names.insert(one.name);
    CHECK_FALSE(one.reason.empty());
  }
  CHECK(names.size() == probes.size());
}

TEST_CASE("the real host answers every probe") {
  FakeClock clock(30);
  LinuxHostProbe probe;
  const auto probes = run_probes(plain(), system_doctor_host(), clock, probe);
  CHECK(std::all_of(probes.begin(), probes.end(), [](const Probe& one) { return !one.reason.empty(); }));
}
