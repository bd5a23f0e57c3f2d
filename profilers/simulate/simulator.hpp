// Instructions and cache misses of a case on a processor that valgrind simulates: slow, the same on every run, and
// there without a PMU. The simulator is that of cachegrind; callgrind, which has it too, tells launches apart.
#pragma once

#include "profilers/cache_model.hpp"
#include "profilers/level_traffic.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::profilers {

/// A cache as valgrind takes it: the number of sets must be a power of two.
struct SimulatedCache {
  std::int64_t bytes = 0;
  std::int64_t ways = 0;
  std::int64_t line_bytes = 64;
  /// "32768,8,64"
  [[nodiscard]] std::string text() const;
  bool operator==(const SimulatedCache&) const = default;
};
/// Of this size with the fewest ways from eight on that leave a power of two of sets; rounded down to a power of two
/// where that would take more than 64.
SimulatedCache simulated_cache(std::int64_t bytes, std::int64_t line_bytes);

/// Valgrind has a first level and a last one; what lies between is left out.
struct SimulatedCaches {
  SimulatedCache first;
  SimulatedCache last;
};
/// Those of one core: the first and the last of the levels; 32 KiB and 8 MiB where the system lists none.
SimulatedCaches simulated_caches(const std::vector<CacheLevel>& levels);

/// The function that runs one launch of the counted run, by the name in the program's symbol table. Costs are collected
/// inside it and written out after each call.
inline constexpr std::string_view kCountedLaunchSymbol = "attnprof_counted_launch";

/// Arguments of valgrind before the program and its own. Results go to `out_file`.1 and so on, one a launch.
std::vector<std::string> valgrind_arguments(const SimulatedCaches& caches, const std::string& out_file);

/// What one of the files holds; absent where it is none of callgrind's.
std::optional<SimulatedCounts> parse_callgrind(std::string_view text, std::int64_t line_bytes);

/// One run of all launches, or why there is none.
struct Simulation {
  std::vector<SimulatedCounts> launches;
  std::string fault; ///< a part of a sentence; empty where the launches are there
};

/// Sum over launches; a count that one of them lacks is absent.
SimulatedCounts total_of(const std::vector<SimulatedCounts>& launches);

/// What `counter_origin` says of such counts.
std::string simulation_text(const SimulatedCaches& caches);

} // namespace attnprof::profilers
