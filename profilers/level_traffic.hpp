#pragma once
#include <cstdint>
#include <optional>

namespace attnprof::profilers {

/// Bytes between levels of memory, of one run of a launch, by the cache model; absent where the machine has no such
/// level or its caches are not known.
struct LevelTraffic {
  std::optional<std::int64_t> l2_bytes;        ///< between the first level and the second
  std::optional<std::int64_t> l3_bytes;        ///< between the second level and the third
  std::optional<std::int64_t> dram_bytes;      ///< between the last cache and memory, write-backs included
  std::optional<std::int64_t> dram_fill_bytes; ///< of dram_bytes, what is read: misses times the line
};

/// What a simulated processor counted in one run of a launch.
struct SimulatedCounts {
  std::optional<std::int64_t> instructions;
  std::optional<std::int64_t> l1_misses;  ///< of the data cache, reads and writes
  std::optional<std::int64_t> llc_misses; ///< of the last level, reads and writes of data
  std::optional<std::int64_t> dram_bytes; ///< llc_misses times the line
};

} // namespace attnprof::profilers
