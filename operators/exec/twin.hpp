#pragma once
#include "operators/core/param.hpp"

#include <cstdint>
#include <optional>

namespace attnprof::operators {

/// What the reference can compute in a time and a memory that a check may take.
struct CheckLimits {
  std::int64_t macs = 0;  ///< multiply-adds of the launch list
  std::int64_t bytes = 0; ///< of all tensors as doubles
};

/// Whether the launch list of a resolved configuration stays within the limits. Throws what build() throws.
bool is_within(const Config& resolved, const CheckLimits& limits);

/// The same workload, plan and dtype with smaller sizes: fewer images, blocks, tokens, heads and channels, in this
/// order, as far as the workload's own rules allow. Absent where no such configuration is within the limits.
std::optional<Config> reduced_twin(const Config& resolved, const CheckLimits& limits);

} // namespace attnprof::operators
