// The real probes of this machine.
#include "profilers/cache_control.hpp"
#include "profilers/clock.hpp"
#include "profilers/host_probe.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_host.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

using namespace attnprof::profilers;

TEST_CASE("steal is read from the cpu line") {
  CHECK(*parse_steal_s("cpu  3801 0 2415 96672 464 0 220 359 0 0\ncpu0 1 2", 100) == Catch::Approx(3.59));
  CHECK_FALSE(parse_steal_s("cpu  3801 0 2415 96672", 100)); // before Linux 2.6.11
  CHECK_FALSE(parse_steal_s("intr 1 2 3 4 5 6 7 8 9", 100));
  CHECK_FALSE(parse_steal_s("", 100));
}

TEST_CASE("the real host probe counts what this process does") {
  LinuxHostProbe host;
  const HostReading before = host.read();
  constexpr std::size_t kBytes = std::size_t{64} << 20U; // larger than what an allocator keeps for later
  std::vector<char> fresh(kBytes, 'x');
  volatile char sink = fresh[kBytes / 2];
  static_cast<void>(sink);
  const HostReading after = host.read();
  REQUIRE(before.page_faults);
  CHECK(*after.page_faults > *before.page_faults);
  CHECK(after.context_switches.has_value());

  LinuxHostProbe blind("/nonexistent/stat");
  CHECK_FALSE(blind.read().steal_s);

  SteadyClock clock;
  const auto hz = measure_cpu_clock_hz(clock, host);
#if defined(__x86_64__) || defined(__aarch64__)
  REQUIRE(hz);
  CHECK(*hz > 0);
  const CoreReading core = measure_core(clock, host);
  REQUIRE(core.issue_rate);
  double best = 0;
  for (int i = 0; i < 20; ++i)
    best = std::max(best, measure_core(clock, host).issue_rate.value_or(0.0));
  CHECK(best > 1.2); // operations that waited for each other would make it 1
  CHECK(best <= 4.0);
#else
  CHECK_FALSE(hz);
#endif
}

TEST_CASE("a core issues what its loops took, in cycles of its own clock") {
  attnprof::tests::FakeClock clock(0);
  attnprof::tests::FakeHost host(clock);
  host.cpu_clock_hz = 2.5e9;
  host.issue_rate = 2.2;
  const CoreReading core = measure_core(clock, host);
  CHECK(*core.clock_hz == Catch::Approx(2.5e9).epsilon(1e-3));
  CHECK(*core.issue_rate == Catch::Approx(2.2).epsilon(1e-3));
  host.issue_rate.reset();
  CHECK_FALSE(measure_core(clock, host).issue_rate);
  host.cpu_clock_hz.reset();
  CHECK_FALSE(measure_core(clock, host).clock_hz);
  CHECK(is_core_shared(2.2, 4.0));
  CHECK_FALSE(is_core_shared(3.8, 4.0));
}

TEST_CASE("the real evictor sweeps at least twice the last level") {
  SystemCacheEvictor evictor(std::size_t{4} << 20U, 1U << 20U, 1);
  CHECK(evictor.sweep_bytes() >= std::size_t{8} << 20U);
  CHECK(SystemCacheEvictor(std::size_t{64} << 20U, 1U << 20U, 4).sweep_bytes() >= std::size_t{128} << 20U);
  std::vector<std::byte> memory(1000, std::byte{7});
  evictor.evict(std::span<const std::byte>(memory).subspan(3, 500));
  evictor.evict({});
  evictor.evict_all();
  CHECK(std::all_of(memory.begin(), memory.end(), [](std::byte b) { return b == std::byte{7}; }));
}
