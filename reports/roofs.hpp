// The ceilings that one case is held against, chosen from the machine by dtype, unit, threads and cache policy.
#pragma once
#include "profilers/machine.hpp"
#include "profilers/record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::reports {

/// Work per second of one unit.
struct UnitRoof {
  double per_s = 0;
  std::string label;  ///< "fma f32 avx2, 2 threads"
  std::string origin; ///< measured, given, spec
};

/// Bandwidth of one memory level for all threads of the case together.
struct MemoryRoof {
  std::string level;                          ///< L1, L2, L3, DRAM
  std::optional<std::int64_t> capacity_bytes; ///< over the threads of the case; absent: unlimited
  double bytes_per_s = 0;
  std::string origin;
};

/// Absent: no such ceiling is known. Memory levels stand nearest first; the last one holds everything.
struct Roofs {
  std::optional<UnitRoof> matrix;
  std::optional<UnitRoof> vector;         ///< where absent, the matrix peak stands in: a vector unit is no faster
  std::optional<UnitRoof> transcendental; ///< where absent, the vector peak stands in
  std::vector<MemoryRoof> memory;

  /// Level in which `working_set_bytes` fit; null where no bandwidth is known.
  [[nodiscard]] const MemoryRoof* level_of(std::int64_t working_set_bytes) const;
};

/// Ceilings for a record: its dtype, its threads (asked for, where nothing ran; else all), its cache policy (a cold case
/// reads from the last level).
Roofs roofs_for(const profilers::Machine& machine, const profilers::Record& record);

} // namespace attnprof::reports
