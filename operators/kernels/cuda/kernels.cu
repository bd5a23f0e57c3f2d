#include "operators/kernels/cuda/own_kernels.hpp"
#include "operators/kernels/cuda/product.cuh"
#include "operators/kernels/cuda/rows.cuh"

namespace attnprof::operators::gpu {

inline void start(const AttentionArgs& args, Stream stream) {
  start_own_attention(args, stream);
}

void start_own_kernel(const LaunchArgs& args, CUstream_st* stream) {
  std::visit([&](const auto& one) { start(one, stream); }, args);
}

} // namespace attnprof::operators::gpu
