// How many bytes cross each level of the caches, without counters: least-recently-used residency of tensors over the
// launch list. Pure: launches and cache sizes in, bytes out.
#pragma once

#include "operators/core/graph.hpp"
#include "profilers/cache_control.hpp"
#include "profilers/environment.hpp"
#include "profilers/level_traffic.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace attnprof::profilers {

/// The caches of one level that the threads of a case use.
struct CacheLevel {
  int level = 1;
  std::int64_t bytes = 0; ///< of one of them
  int copies = 1;         ///< threads on different ones keep copies of what all of them read
  std::int64_t line_bytes = 64;
  bool operator==(const CacheLevel&) const = default;
};
/// Ascending, one entry a level; empty where the system lists no cache.
std::vector<CacheLevel> cache_levels(const std::vector<Cache>& caches, int threads);

/// Bytes across the far border of one level, of one launch.
struct BorderTraffic {
  double fill_bytes = 0;       ///< read into the level: misses of reads, and of writes, which allocate their lines
  double write_back_bytes = 0; ///< written by this launch and pushed out before the next use, whenever that is
};

/// One run of the launch list in steady state, by launch and then by level. Each distinct byte of an operand is touched
/// once a launch, at the same relative time of the launch as in the launch before: a byte is found where no more than
/// the level's capacity of others was touched since (stack distance, Mattson et al. 1970). Operands lie where the
/// executor puts them, so that an intermediate takes over the lines of one that is no longer needed. Threads share
/// activations out among them; every private cache holds its own copy of weights. Full associativity, no prefetch, no
/// reuse within a launch that the cache cannot hold.
std::vector<std::vector<BorderTraffic>> modelled_traffic(const operators::Graph& launches,
                                                         const std::vector<CacheLevel>& levels, CachePolicy policy);

/// The same as the columns have it, one entry a launch; everything absent where no cache is known.
std::vector<LevelTraffic> level_traffic(const operators::Graph& launches, const std::vector<CacheLevel>& levels,
                                        CachePolicy policy);

/// "2 x 32 KiB L1, 2 x 512 KiB L2, 32 MiB L3"
std::string text_of(const std::vector<CacheLevel>& levels);

} // namespace attnprof::profilers
