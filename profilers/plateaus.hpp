// Finds memory levels in a measured curve of bandwidth over working-set size: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attnprof::profilers {

struct CurvePoint {
  std::int64_t working_set_bytes = 0;
  double bytes_per_s = 0;
  bool operator==(const CurvePoint&) const = default;
};

/// A range of sizes over which bandwidth stays the same.
struct Plateau {
  std::int64_t first_bytes = 0;
  std::int64_t last_bytes = 0;
  double bytes_per_s = 0; ///< median of its points, each raised to the fastest point right of it
};

/// Plateaus of a curve sorted by size, fastest first. Slopes between them belong to none; steps below 25 % and steps
/// lost in the curve's own noise do not part two plateaus.
std::vector<Plateau> find_plateaus(std::span<const CurvePoint> curve);

/// A cache as one thread sees it.
struct CacheShare {
  int level = 0;
  std::int64_t bytes = 0;
};

/// Names plateaus L1, L2 ... DRAM by the caches whose sizes are nearest to their upper ends. The last one is DRAM when
/// it reaches twice beyond the largest cache. A plateau that no known cache explains takes the next free level number
/// up to 3 or the highest that the system lists (virtual machines hide caches); absent where no number is free.
std::vector<std::optional<std::string>> name_plateaus(std::span<const Plateau> plateaus,
                                                      std::span<const CacheShare> caches);

} // namespace attnprof::profilers
