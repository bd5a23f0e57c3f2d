#include "profilers/simulate/simulator.hpp"

#include "tests/support/catch.hpp"

using namespace attnprof::profilers;

TEST_CASE("simulator: caches have a power of two of sets, as valgrind demands") {
  CHECK(simulated_cache(32 << 10, 64) == SimulatedCache{32 << 10, 8, 64});
  CHECK(simulated_cache(48 << 10, 64) == SimulatedCache{48 << 10, 12, 64});
  CHECK(simulated_cache(36 << 20, 64) == SimulatedCache{36 << 20, 9, 64});
  CHECK(simulated_cache(33 << 20, 64) == SimulatedCache{33 << 20, 33, 64});
  CHECK(simulated_cache((64 << 10) + 64, 64) == SimulatedCache{64 << 10, 8, 64}); // 1025 ways are too many
  CHECK(simulated_cache(32 << 20, 64).text() == "33554432,8,64");
}

TEST_CASE("simulator: the first and the last level of the machine are simulated") {
  const SimulatedCaches caches = simulated_caches({{1, 32 << 10, 1, 64}, {2, 512 << 10, 1, 64}, {3, 32 << 20, 1, 64}});
  CHECK(caches.first.bytes == 32 << 10);
  CHECK(caches.last.bytes == 32 << 20);
  CHECK(simulated_caches({}).last.bytes == 8 << 20);
  const auto args = valgrind_arguments(caches, "out");
  CHECK(std::find(args.begin(), args.end(), "--LL=33554432,8,64") != args.end());
  CHECK(std::find(args.begin(), args.end(), "--dump-after=attnprof_counted_launch") != args.end());
}

TEST_CASE("simulator: counts are read by the names of their events") {
  const std::string head = "version: 1\ncreator: callgrind-3.19.0\npid: 1\n";
  const auto counts = parse_callgrind(
      head + "events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\nfn=(1) f\n1 2 3\ntotals: 1000 300 100 1 20 5 1 7 2\n",
      64);
  REQUIRE(counts);
  CHECK(counts->instructions == 1000);
  CHECK(counts->l1_misses == 25);
  CHECK(counts->llc_misses == 9);
  CHECK(counts->dram_bytes == 9 * 64);
  // Zeros at the end of a line are not written.
  const auto few = parse_callgrind("events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\ntotals: 1000 300 100 1 20\n", 64);
  REQUIRE(few);
  CHECK(few->l1_misses == 20);
  CHECK(few->llc_misses == 0);
  const auto no_caches = parse_callgrind("events: Ir\ntotals: 1000\n", 64);
  REQUIRE(no_caches);
  CHECK_FALSE(no_caches->l1_misses);
  CHECK_FALSE(no_caches->dram_bytes);
}

TEST_CASE("simulator: what it did not see has no count, rather than 0") {
  CHECK_FALSE(parse_callgrind("", 64));
  CHECK_FALSE(parse_callgrind("events: Ir Dr\n", 64));
  CHECK_FALSE(parse_callgrind("events: Ir Dr\ntotals: 0\n", 64));
}

TEST_CASE("simulator: a case is the sum of its launches") {
  const SimulatedCounts whole = total_of({{100, 10, 1, 64}, {200, 20, 2, 128}});
  CHECK(whole.instructions == 300);
  CHECK(whole.llc_misses == 3);
  CHECK(whole.dram_bytes == 192);
  CHECK_FALSE(total_of({{100, 10, 1, 64}, {200, 20, std::nullopt, std::nullopt}}).llc_misses);
  CHECK_FALSE(total_of({{200, 20, std::nullopt, std::nullopt}, {100, 10, 1, 64}}).llc_misses);
}
