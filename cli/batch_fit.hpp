// The largest batch of a case that a memory holds. Pure.
#pragma once

#include "operators/core/param.hpp"

#include <cstdint>

namespace attnprof::cli {

/// Memory of a case: weights, caches at their final length, and the largest sum of activations alive at one launch.
struct BatchFit {
  std::int64_t batch = 0;        ///< 0: not even one sequence or image fits
  std::int64_t needed_bytes = 0; ///< at that batch, or at 1 where none fits
};

/// Largest value of `batch` at which the resolved case needs no more than `memory_bytes`. Throws operators::Error where
/// the case cannot be built.
BatchFit largest_batch(const operators::Config& config, std::int64_t memory_bytes);

} // namespace attnprof::cli
