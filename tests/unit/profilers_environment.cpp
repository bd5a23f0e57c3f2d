#include "profilers/environment.hpp"
#include "profilers/system_files.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_system.hpp"

#include <string>
#include <vector>

using namespace attnprof::profilers;
using attnprof::tests::FakeSystem;
using Cpus = std::vector<int>;

namespace {

// Two cores with two threads each: processors 0 and 2, 1 and 3 are siblings.
void write_desktop(const FakeSystem& system) {
  system.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Fast CPU 9000\nflags\t\t: fpu sse2 avx fma avx2\n\n"
                               "processor\t: 1\nmodel name\t: Fast CPU 9000");
  system.write("proc/meminfo", "MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    8000000 kB");
  system.write("proc/sys/kernel/osrelease", "6.1.0-test");
  system.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
  system.write("sys/devices/system/cpu/smt/active", "1");
  system.write("sys/devices/system/cpu/intel_pstate/no_turbo", "0");
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string core = cpu % 2 == 0 ? "0,2" : "1,3";
    system.cpu(cpu, "topology/thread_siblings_list", core);
    system.cpu(cpu, "cpufreq/scaling_governor", "powersave");
    system.cache(cpu, 0, 1, "Data", "48K", core);
    system.cache(cpu, 1, 1, "Instruction", "32K", core);
    system.cache(cpu, 2, 2, "Unified", "2048K", core);
    system.cache(cpu, 3, 3, "Unified", "32M", "0-3");
  }
}

Environment read(const FakeSystem& system, Cpus allowed = {0, 1, 2, 3}) {
  return read_environment({system.root(), std::move(allowed)});
}

} // namespace

TEST_CASE("a desktop with SMT") {
  const FakeSystem system;
  write_desktop(system);
  const Environment found = read(system);
  CHECK(*found.cpu_model == "Fast CPU 9000");
  CHECK(found.isa_flags == std::vector<std::string>{"sse2", "avx", "fma", "avx2"});
  CHECK(found.cores == 4);
  CHECK(found.physical_cores == 2);
  CHECK(found.cpus == Cpus{0, 1, 2, 3});
  CHECK(*found.smt);
  CHECK(*found.turbo);
  CHECK(*found.governor == "powersave");
  CHECK_FALSE(*found.hypervisor);
  CHECK(*found.huge_pages == "madvise");
  CHECK(*found.memory_available_bytes == 8'000'000LL * 1024);
  CHECK(*found.kernel == "6.1.0-test");
  CHECK_FALSE(found.quota_cores);
  CHECK(found.core_kinds.empty());
  const std::vector<Cache> caches{
      {1, "data", 48 << 10, 64, 2, 2}, {2, "unified", 2 << 20, 64, 2, 2}, {3, "unified", 32 << 20, 64, 4, 1}};
  CHECK(found.caches == caches);
  CHECK(*last_level_bytes(found) == 32 << 20);
  CHECK(private_cache_bytes(found) == (48 << 10) + (2 << 20));
  CHECK_FALSE(found.version.empty());
  CHECK_FALSE(found.compiler.empty());
}

TEST_CASE("affinity limits cores and shared caches") {
  const FakeSystem system;
  write_desktop(system);
  const Environment found = read(system, {1, 2});
  CHECK(found.cores == 2);
  CHECK(found.physical_cores == 2);
  CHECK(found.caches.front().shared_by == 1);
  CHECK(found.caches.back().shared_by == 2);
  const Environment siblings = read(system, {0, 2});
  CHECK(siblings.physical_cores == 1);
}

TEST_CASE("siblings come after one processor of each core") {
  const FakeSystem system;
  for (int cpu = 0; cpu < 4; ++cpu)
    system.cpu(cpu, "topology/thread_siblings_list", cpu < 2 ? "0-1" : "2-3");
  const Environment found = read(system);
  CHECK(found.cpus == Cpus{0, 2, 1, 3});
  CHECK(*found.smt);
}

TEST_CASE("an empty system gives nothing but the build") {
  const FakeSystem system;
  const Environment found = read(system, {0});
  CHECK_FALSE(found.cpu_model);
  CHECK(found.caches.empty());
  CHECK_FALSE(found.governor); // no cpufreq is unknown, not "performance" (BUG-154)
  CHECK_FALSE(found.turbo);
  CHECK_FALSE(found.smt);
  CHECK_FALSE(found.hypervisor);
  CHECK_FALSE(found.huge_pages);
  CHECK_FALSE(found.memory_available_bytes);
  CHECK_FALSE(found.kernel);
  CHECK(found.cores == 1);
  CHECK_FALSE(last_level_bytes(found));
  CHECK(private_cache_bytes(found) == 0);
  CHECK(read(system, {}).cores == 1);
}

TEST_CASE("governors that differ are all named, boost is turbo") {
  const FakeSystem system;
  write_desktop(system);
  system.cpu(3, "cpufreq/scaling_governor", "performance");
  system.write("sys/devices/system/cpu/cpufreq/boost", "1");
  system.write("sys/devices/system/cpu/intel_pstate/no_turbo", "1");
  CHECK(*read(system).governor == "performance,powersave");
  CHECK_FALSE(*read(system).turbo);

  const FakeSystem amd;
  amd.write("sys/devices/system/cpu/cpufreq/boost", "1");
  CHECK(*read(amd, {0}).turbo);
}

TEST_CASE("a hybrid machine keeps its kinds apart (BUG-123)") {
  const FakeSystem system;
  write_desktop(system);
  system.write("sys/devices/cpu_core/cpus", "2-3");
  system.write("sys/devices/cpu_atom/cpus", "0-1");
  for (int cpu = 0; cpu < 4; ++cpu)
    system.cpu(cpu, "topology/thread_siblings_list", std::to_string(cpu));
  const Environment found = read(system);
  CHECK(found.core_kinds == std::vector<CoreKind>{{"cpu_core", {2, 3}}, {"cpu_atom", {0, 1}}});
  CHECK(found.cpus == Cpus{2, 3, 0, 1});
  CHECK(read(system, {0, 1}).core_kinds == std::vector<CoreKind>{{"cpu_atom", {0, 1}}});
}

TEST_CASE("a virtual machine says so") {
  const FakeSystem system;
  system.write("proc/cpuinfo", "flags : sse2 hypervisor avx2");
  CHECK(*read(system, {0}).hypervisor);
}

TEST_CASE("an Arm machine is named by implementer and part") {
  const FakeSystem system;
  system.write("proc/cpuinfo", "processor : 0\nFeatures : fp asimd sve bf16\nCPU implementer : 0x41\nCPU part : 0xd4f");
  const Environment found = read(system, {0});
  CHECK(*found.cpu_model == "Arm implementer 0x41 part 0xd4f");
  CHECK(found.isa_flags == std::vector<std::string>{"asimd", "sve", "bf16"});
  CHECK_FALSE(found.hypervisor);
}

TEST_CASE("a version 2 group limits processors and memory") {
  const FakeSystem system;
  write_desktop(system);
  system.write("proc/self/cgroup", "0::/box/inner");
  system.write("sys/fs/cgroup/box/cpu.max", "250000 100000");
  system.write("sys/fs/cgroup/box/inner/cpu.max", "max 100000");
  system.write("sys/fs/cgroup/box/inner/memory.max", "1000000000");
  system.write("sys/fs/cgroup/box/inner/memory.current", "700000000");
  system.write("sys/fs/cgroup/box/inner/memory.stat", "anon 100\ninactive_file 200000000\nactive_file 5");
  const Environment found = read(system);
  CHECK(*found.quota_cores == Catch::Approx(2.5));
  CHECK(found.cores == 2);
  CHECK(*found.memory_available_bytes == 500'000'000);

  SECTION("a fraction of a processor still runs one thread") {
    system.write("sys/fs/cgroup/box/inner/cpu.max", "50000 100000");
    CHECK(read(system).cores == 1);
  }
  SECTION("more memory than there is does not count") {
    system.write("sys/fs/cgroup/box/inner/memory.max", "100000000000000");
    CHECK(*read(system).memory_available_bytes == 8'000'000LL * 1024);
    system.write("sys/fs/cgroup/box/inner/memory.max", "max");
    CHECK(*read(system).memory_available_bytes == 8'000'000LL * 1024);
  }
}

TEST_CASE("a version 1 group limits processors and memory") {
  const FakeSystem system;
  write_desktop(system);
  system.write("proc/self/cgroup", "5:memory:/job\n2:cpu,cpuacct:/job\n0::/");
  system.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "300000");
  system.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  system.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2000000");
  system.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "500000");
  const Environment found = read(system);
  CHECK(*found.quota_cores == Catch::Approx(3));
  CHECK(found.cores == 3);
  CHECK(*found.memory_available_bytes == 1'500'000);

  SECTION("without limits") {
    system.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1");
    system.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712");
    CHECK_FALSE(read(system).quota_cores);
    CHECK(read(system).cores == 4);
    CHECK(*read(system).memory_available_bytes == 8'000'000LL * 1024);
  }
  SECTION("a group that uses more than its limit leaves nothing") {
    system.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "3000000");
    CHECK(*read(system).memory_available_bytes == 0);
  }
}

TEST_CASE("the fingerprint changes with what changes ceilings, and with nothing else") {
  const FakeSystem system;
  write_desktop(system);
  const Environment base = read(system);
  CHECK(fingerprint(base).size() == 16);
  CHECK(fingerprint(base) == fingerprint(read(system)));

  Environment same = base;
  same.governor = "performance";
  same.memory_available_bytes = 1;
  same.kernel = "other";
  same.commit = "other";
  CHECK(fingerprint(same) == fingerprint(base));

  const auto differs = [&](const auto& change) {
    Environment changed = base;
    change(changed);
    return fingerprint(changed) != fingerprint(base);
  };
  CHECK(differs([](Environment& e) { e.cpu_model = "Slow CPU"; }));
  CHECK(differs([](Environment& e) { e.isa_flags.emplace_back("avx512f"); }));
  CHECK(differs([](Environment& e) { e.cores = 3; }));
  CHECK(differs([](Environment& e) { e.caches[1].size_bytes /= 2; }));
  CHECK(differs([](Environment& e) { e.caches.pop_back(); }));
  CHECK(differs([](Environment& e) { e.build_type += "x"; }));
  CHECK(differs([](Environment& e) { e.compiler = "other"; }));
  CHECK(differs([](Environment& e) { e.version = "other"; }));
}

TEST_CASE("processor lists, sizes and bracketed words") {
  CHECK(parse_cpu_list("0-3,8") == Cpus{0, 1, 2, 3, 8});
  CHECK(parse_cpu_list("5") == Cpus{5});
  CHECK(parse_cpu_list("").empty());
  CHECK(parse_cpu_list("x,2,3-,-1,4-2,1-99999999") == Cpus{2});
  CHECK(*parse_cache_size("48K") == 48 << 10);
  CHECK(*parse_cache_size("32M") == 32 << 20);
  CHECK(*parse_cache_size("512") == 512);
  for (const char* text : {"", "K", "12X", "-4K", "99999999999999999999K"})
    CHECK_FALSE(parse_cache_size(text));
  CHECK(*parse_bracketed("always madvise [never]") == "never");
  CHECK_FALSE(parse_bracketed("always"));
  CHECK_FALSE(parse_bracketed("]["));
}

TEST_CASE("integers in files") {
  const FakeSystem system;
  system.write("a", "42");
  system.write("b", "42 things");
  CHECK(*read_integer(system.root() / "a") == 42);
  CHECK_FALSE(read_integer(system.root() / "b"));
  CHECK_FALSE(read_integer(system.root() / "absent"));
}

TEST_CASE("this machine can be read") {
  const Cpus allowed = allowed_cpus();
  REQUIRE_FALSE(allowed.empty());
  const Environment found = read_environment({"/", allowed});
  CHECK(found.cores >= 1);
  CHECK(found.cores <= static_cast<int>(allowed.size()));
  CHECK(found.cpus.size() == allowed.size());
}
