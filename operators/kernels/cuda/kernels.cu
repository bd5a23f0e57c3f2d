#include "operators/kernels/cuda/own_kernels.hpp"
#include "operators/kernels/cuda/product.cuh"
#include "operators/kernels/cuda/rows.cuh"

namespace attnprof::operators::gpu {

void start_own_kernel(const LaunchArgs& args, CUstream_st* stream) {
  std::visit(Overloaded{[&](const AttentionArgs& one) { start_own_attention(one, stream); },
                        [&](const auto& one) { start(one, stream); }},
             args);
}

} // namespace attnprof::operators::gpu
