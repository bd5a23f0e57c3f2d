#pragma once
#include "operators/core/io.hpp"
#include "operators/core/work.hpp"

namespace attnprof::operators {

/// Counted work and bytes of one launch. Intensity is FLOPs per byte; absent where no byte moves.
struct LaunchCost {
  std::string scope;
  std::string op;
  std::string shape;
  Work work;
  Bytes bytes;
};

struct Totals {
  Work work;
  Count bytes_read = 0;
  Count bytes_written = 0;
  Count compulsory_bytes =
      0;                   ///< graph inputs, weights, constants, caches and outputs, each once, as far as they are used
  Count params = 0;        ///< elements of all weights, shared ones once
  Count active_params = 0; ///< those that one token uses: fewer where there are experts
  Count weight_bytes = 0;
  Count kv_cache_bytes = 0;        ///< the caches at their final length
  Count peak_activation_bytes = 0; ///< largest sum of inputs, outputs and intermediates alive at one launch
  Count launches = 0;
  friend bool operator==(const Totals&, const Totals&) = default;
};

struct Cost {
  Totals totals;
  std::vector<LaunchCost> launches;
};

/// Costs a launch list (R2). Pure; throws Error(kOverflow).
Cost cost_of(const Graph& launches);
/// cost_of(launches).totals, without a text for each launch.
Totals totals_of(const Graph& launches);

/// Launches between which each tensor must be kept: [first, last], -1 for tensors that no op touches.
struct Lifetime {
  std::int64_t first = -1;
  std::int64_t last = -1;
};
std::vector<Lifetime> lifetimes(const Graph& launches);

} // namespace attnprof::operators
