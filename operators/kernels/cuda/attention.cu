#include "operators/kernels/cuda/attention_start.cuh"
#include "operators/kernels/cuda/own_kernels.hpp"

namespace attnprof::operators::gpu {

// Those with tensor cores are compiled beside this file: ptxas works on one file with one core.
extern template void start_tiles<true, 32>(const AttentionArgs& args, Stream stream);
extern template void start_tiles<true, 64>(const AttentionArgs& args, Stream stream);
extern template void start_tiles<true, 128>(const AttentionArgs& args, Stream stream);
extern template void start_tiles<false, 32>(const AttentionArgs& args, Stream stream);
extern template void start_tiles<false, 64>(const AttentionArgs& args, Stream stream);
extern template void start_tiles<false, 128>(const AttentionArgs& args, Stream stream);

void start_own_attention(const AttentionArgs& args, CUstream_st* stream) {
  start(args, stream);
}

} // namespace attnprof::operators::gpu
