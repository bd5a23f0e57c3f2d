#include "profilers/plateaus.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sizes.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

using namespace attnprof::profilers;
using Curve = std::vector<CurvePoint>;
using Names = std::vector<std::optional<std::string>>;
using attnprof::tests::kKiB;
using attnprof::tests::kMiB;

namespace {

struct Level {
  std::int64_t bytes; ///< capacity; the last one's is not looked at
  double bytes_per_s;
};

// Half-octave steps from 4 KiB; beyond a capacity the next level's share grows over about an octave, as caches do.
Curve curve_of(const std::vector<Level>& levels, std::int64_t top, double noise = 0, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  Curve curve;
  for (int step = 24;; ++step) {
    const auto bytes = static_cast<std::int64_t>(std::pow(2.0, step / 2.0));
    if (bytes > top)
      return curve;
    std::size_t level = 0;
    while (level + 1 < levels.size() && bytes > levels[level].bytes)
      ++level;
    double rate = levels[level].bytes_per_s;
    if (level > 0) {
      const double beyond = static_cast<double>(bytes) / static_cast<double>(levels[level - 1].bytes);
      if (beyond < 2)
        rate = std::exp(std::lerp(std::log(levels[level - 1].bytes_per_s), std::log(rate), std::log2(beyond)));
    }
    rate *= 1 + noise * (static_cast<double>(random() >> 11U) / 9007199254740992.0 - 0.5) * 2;
    curve.push_back({bytes, rate});
  }
}

const std::vector<Level> kServer{{32 * kKiB, 200e9}, {512 * kKiB, 100e9}, {32 * kMiB, 45e9}, {0, 15e9}};
const std::vector<CacheShare> kServerCaches{{1, 32 * kKiB}, {2, 512 * kKiB}, {3, 32 * kMiB}};

void check_server(const Curve& curve, double tolerance) {
  const auto plateaus = find_plateaus(curve);
  REQUIRE(plateaus.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(plateaus[i].bytes_per_s == Catch::Approx(kServer[i].bytes_per_s).epsilon(tolerance));
    CHECK(plateaus[i].first_bytes < plateaus[i].last_bytes);
  }
  CHECK(plateaus[0].last_bytes <= 32 * kKiB * 3 / 2);
  CHECK(plateaus[1].last_bytes >= 256 * kKiB);
  CHECK(plateaus[1].last_bytes <= kMiB);
  CHECK(plateaus[3].last_bytes == curve.back().working_set_bytes);
  CHECK(name_plateaus(plateaus, kServerCaches) == Names{"L1", "L2", "L3", "DRAM"});
}

} // namespace

TEST_CASE("three caches and memory") {
  check_server(curve_of(kServer, 256 * kMiB), 0.02);
}

TEST_CASE("a noisy curve keeps its levels") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    check_server(curve_of(kServer, 256 * kMiB, 0.08, seed), 0.1);
  }
}

TEST_CASE("single spikes are no levels") {
  Curve curve = curve_of(kServer, 256 * kMiB);
  curve[5].bytes_per_s /= 3;
  curve[20].bytes_per_s *= 1.5;
  CHECK(find_plateaus(curve).size() == 4);
}

TEST_CASE("small sets slowed by the loop around them belong to the first level") {
  Curve curve = curve_of(kServer, 256 * kMiB);
  curve[0].bytes_per_s *= 0.6;
  curve[1].bytes_per_s *= 0.8;
  const auto plateaus = find_plateaus(curve);
  REQUIRE(plateaus.size() == 4);
  CHECK(plateaus[0].bytes_per_s == Catch::Approx(200e9).epsilon(0.02));
}

TEST_CASE("a machine without a third level") {
  const std::vector<Level> levels{{32 * kKiB, 60e9}, {kMiB, 30e9}, {0, 5e9}};
  const auto plateaus = find_plateaus(curve_of(levels, 256 * kMiB));
  REQUIRE(plateaus.size() == 3);
  const std::vector<CacheShare> caches{{1, 32 * kKiB}, {2, kMiB}};
  CHECK(name_plateaus(plateaus, caches) == Names{"L1", "L2", "DRAM"});
}

TEST_CASE("a virtual machine whose third level is not what the system says") {
  SECTION("a slice of it") {
    auto levels = kServer;
    levels[2].bytes = 12 * kMiB;
    const auto plateaus = find_plateaus(curve_of(levels, 256 * kMiB));
    CHECK(name_plateaus(plateaus, kServerCaches) == Names{"L1", "L2", "L3", "DRAM"});
    CHECK(plateaus[2].last_bytes <= 16 * kMiB);
  }
  SECTION("not listed at all") {
    const auto plateaus = find_plateaus(curve_of(kServer, 256 * kMiB));
    const std::vector<CacheShare> caches{{1, 32 * kKiB}, {2, 512 * kKiB}};
    CHECK(name_plateaus(plateaus, caches) == Names{"L1", "L2", "L3", "DRAM"});
  }
  SECTION("no cache listed") {
    const auto plateaus = find_plateaus(curve_of(kServer, 256 * kMiB));
    CHECK(name_plateaus(plateaus, {}) == Names{"L1", "L2", "L3", "DRAM"});
  }
  SECTION("announced but too contended to show") {
    const std::vector<Level> levels{{32 * kKiB, 200e9}, {512 * kKiB, 100e9}, {0, 15e9}};
    const auto plateaus = find_plateaus(curve_of(levels, 256 * kMiB));
    CHECK(name_plateaus(plateaus, kServerCaches) == Names{"L1", "L2", "DRAM"});
  }
  SECTION("a tenth of what is announced: still the level above L2") {
    auto levels = kServer;
    levels[2].bytes = 3 * kMiB;
    const auto plateaus = find_plateaus(curve_of(levels, 256 * kMiB));
    CHECK(name_plateaus(plateaus, kServerCaches) == Names{"L1", "L2", "L3", "DRAM"});
  }
}

TEST_CASE("no cache is invented above those that can be") {
  const std::vector<Level> levels{
      {32 * kKiB, 200e9}, {512 * kKiB, 100e9}, {3 * kMiB, 60e9}, {16 * kMiB, 35e9}, {0, 12e9}};
  const auto plateaus = find_plateaus(curve_of(levels, 256 * kMiB));
  REQUIRE(plateaus.size() == 5);
  CHECK(name_plateaus(plateaus, kServerCaches) == Names{"L1", "L2", std::nullopt, "L3", "DRAM"});
  CHECK(name_plateaus(plateaus, {}) == Names{"L1", "L2", "L3", std::nullopt, "DRAM"});
}

TEST_CASE("dips do not part a level") {
  Curve curve = curve_of(kServer, 256 * kMiB);
  curve[29].bytes_per_s /= 3;
  curve[30].bytes_per_s /= 4;
  curve[31].bytes_per_s /= 3;
  check_server(curve, 0.02);
}

TEST_CASE("levels of the same speed are one plateau, named by the larger") {
  const std::vector<Level> levels{{32 * kKiB, 100e9}, {512 * kKiB, 95e9}, {32 * kMiB, 45e9}, {0, 15e9}};
  const auto plateaus = find_plateaus(curve_of(levels, 256 * kMiB));
  REQUIRE(plateaus.size() == 3);
  CHECK(name_plateaus(plateaus, kServerCaches) == Names{"L2", "L3", "DRAM"});
}

TEST_CASE("a curve that ends inside the last cache has no memory level") {
  const auto plateaus = find_plateaus(curve_of(kServer, 16 * kMiB));
  REQUIRE(plateaus.size() == 3);
  CHECK(name_plateaus(plateaus, kServerCaches) == Names{"L1", "L2", "L3"});
}

TEST_CASE("curves that say nothing") {
  CHECK(find_plateaus(Curve{}).empty());
  CHECK(find_plateaus(Curve{{1024, 1e9}, {2048, 1e9}}).empty());
  CHECK(find_plateaus(Curve{{1, 0}, {2, -1}, {4, std::nan("")}, {8, 0}}).empty());
  CHECK(name_plateaus({}, kServerCaches).empty());
  const auto flat = find_plateaus(curve_of({{0, 10e9}}, 64 * kMiB));
  REQUIRE(flat.size() == 1);
  CHECK(flat[0].bytes_per_s == Catch::Approx(10e9));
}
