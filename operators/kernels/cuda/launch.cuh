#pragma once
#include "operators/kernels/cuda/attention_start.cuh"
#include "operators/kernels/cuda/product.cuh"
#include "operators/kernels/cuda/rows.cuh"

namespace attnprof::operators::gpu {

/// Starts the own kernel of a launch.
inline void start_own(const LaunchArgs& args, Stream stream) {
  std::visit([&](const auto& one) { start(one, stream); }, args);
}

} // namespace attnprof::operators::gpu
