// Energy of processor packages and memory, from the running totals that Linux's powercap folders give (RAPL).
#pragma once

#include "profilers/clock.hpp"
#include "profilers/environment.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::profilers {

/// One total: of a package, or of the memory that a package reports on.
struct EnergyZone {
  std::filesystem::path folder;
  bool is_dram = false;
  std::optional<std::int64_t> range_uj; ///< the total starts again from 0 after this
};

/// Joules between two readings of a total in microjoules. It may have started again once in between, which takes at
/// least minutes; absent where a reading is, or where it started again after an unknown range.
std::optional<double> energy_between_j(std::optional<std::int64_t> before_uj, std::optional<std::int64_t> after_uj,
                                       std::optional<std::int64_t> range_uj);

class EnergyMeter {
 public:
  /// Looks for zones below `root`/sys/class/powercap.
  EnergyMeter(const std::filesystem::path& root, std::optional<bool> hypervisor);

  /// Why nothing can be read, a sentence without its full stop; empty where it can.
  [[nodiscard]] const std::string& fault() const { return fault_; }
  /// What to do about it; empty where nothing helps.
  [[nodiscard]] const std::string& fix() const { return fix_; }
  [[nodiscard]] const std::vector<EnergyZone>& zones() const { return zones_; }
  /// One total a zone, in microjoules; absent where it cannot be read.
  [[nodiscard]] std::vector<std::optional<std::int64_t>> read() const;

 private:
  std::vector<EnergyZone> zones_;
  std::string fault_;
  std::string fix_;
};

/// Energy of one run, everything that ran on the packages meanwhile included.
struct RunEnergy {
  std::optional<double> package_j;
  std::optional<double> dram_j; ///< absent where no zone reports on memory
  std::string origin;           ///< what was read, or why there is nothing
};

/// Repeats the body for about `time_s`, which is many updates of the totals (they come every millisecond or so).
/// `run_s` is the time of one run.
RunEnergy measure_energy(const EnergyMeter& meter, const std::function<void()>& body, double run_s, double time_s,
                         Clock& clock);

} // namespace attnprof::profilers
