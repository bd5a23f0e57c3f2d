#include "profilers/energy.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/fake_system.hpp"

using namespace attnprof::profilers;
using attnprof::tests::FakeClock;
using attnprof::tests::FakeSystem;

namespace {

/// Two packages, of which one has memory and cores as parts.
struct Host {
  FakeSystem system;
  FakeClock clock;
  std::int64_t first_uj = 1'000'000;
  std::int64_t second_uj = 9'500'000;
  std::int64_t dram_uj = 500'000;
  int runs = 0;

  void zone(const std::string& zone, const std::string& name, std::int64_t uj) {
    const std::string folder = "sys/class/powercap/" + zone + "/";
    system.write(folder + "name", name);
    system.write(folder + "energy_uj", std::to_string(uj));
    system.write(folder + "max_energy_range_uj", "10000000");
  }
  Host() { publish(); }
  void publish() {
    zone("intel-rapl:0", "package-0", first_uj);
    zone("intel-rapl:0:0", "core", 77);
    zone("intel-rapl:0:1", "dram", dram_uj);
    zone("intel-rapl:1", "package-1", second_uj % 10'000'000);
    zone("intel-rapl-mmio:0", "package-0", first_uj);
  }
  /// 10 ms that cost 0.2 J and 0.1 J of the packages and 0.05 J of memory.
  void body() {
    ++runs;
    clock.advance_s(0.01);
    first_uj += 200'000;
    second_uj += 100'000;
    dram_uj += 50'000;
    publish();
  }
  RunEnergy measure() {
    const EnergyMeter meter(system.root(), false);
    return measure_energy(
        meter, [this] { body(); }, 0.01, 0.1, clock);
  }
};

} // namespace

TEST_CASE("energy: joules of a run are differences over its runs, packages and memory apart") {
  Host host;
  const RunEnergy energy = host.measure();
  CHECK(host.runs == 10);
  REQUIRE(energy.package_j);
  CHECK(*energy.package_j == Catch::Approx(0.3)); // the second total started again from 0 on the way
  CHECK(*energy.dram_j == Catch::Approx(0.05));
  CHECK(energy.origin.starts_with("counter: powercap totals of 3 zones over 10 runs"));
}

TEST_CASE("energy: a total that starts again is followed once, by its range") {
  CHECK(*energy_between_j(1'000'000, 3'000'000, 10'000'000) == Catch::Approx(2));
  CHECK(*energy_between_j(9'000'000, 1'000'000, 10'000'000) == Catch::Approx(2));
  CHECK_FALSE(energy_between_j(9'000'000, 1'000'000, std::nullopt));
  CHECK_FALSE(energy_between_j(9'000'000, 1'000'000, 5'000'000)); // the range contradicts the reading
  CHECK_FALSE(energy_between_j(std::nullopt, 1, 10));
  CHECK_FALSE(energy_between_j(1, std::nullopt, 10));
}

TEST_CASE("energy: each absence has its reason and its way out") {
  FakeSystem nothing;
  const EnergyMeter bare(nothing.root(), false);
  CHECK(bare.fault().find("no powercap zone") != std::string::npos);
  CHECK(bare.fix().find("modprobe") != std::string::npos);
  const EnergyMeter guest(nothing.root(), true);
  CHECK(guest.fault().find("virtual machine") != std::string::npos);
  FakeSystem refused; // a folder in place of the file cannot be read as root either
  refused.write("sys/class/powercap/intel-rapl:0/name", "package-0");
  refused.write("sys/class/powercap/intel-rapl:0/energy_uj/x", "");
  const EnergyMeter locked(refused.root(), true);
  CHECK(locked.fault().find("only root") != std::string::npos);
  CHECK(locked.fix().find("chmod") != std::string::npos);
  FakeClock clock;
  const RunEnergy energy = measure_energy(
      locked, [] { FAIL("it ran"); }, 0.01, 0.1, clock);
  CHECK_FALSE(energy.package_j);
  CHECK(energy.origin.starts_with("unavailable: the energy totals are there"));
}

TEST_CASE("energy: totals that stand still are no energy") {
  Host host;
  const EnergyMeter meter(host.system.root(), false);
  const RunEnergy energy = measure_energy(
      meter, [&] { host.clock.advance_s(0.01); }, 0.01, 0.1, host.clock);
  CHECK_FALSE(energy.package_j);
  CHECK_FALSE(energy.dram_j);
  CHECK(energy.origin.find("did not move in 0.1 s") != std::string::npos);
}

TEST_CASE("energy: without a zone for memory that figure is absent") {
  FakeSystem system;
  FakeClock clock;
  std::int64_t uj = 0;
  const auto publish = [&] {
    system.write("sys/class/powercap/intel-rapl:0/name", "package-0");
    system.write("sys/class/powercap/intel-rapl:0/energy_uj", std::to_string(uj));
  };
  publish();
  const EnergyMeter meter(system.root(), false);
  const RunEnergy energy = measure_energy(
      meter, [&] { uj += 1000, clock.advance_s(0.05), publish(); }, 0.05, 0.1, clock);
  CHECK(*energy.package_j == Catch::Approx(1e-3));
  CHECK_FALSE(energy.dram_j);
}
