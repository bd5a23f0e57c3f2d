#pragma once
#include "operators/kernels/cuda/attention.cuh"
#include "operators/kernels/cuda/attention_tensor.cuh"

// Which of the attention kernels takes a launch.
namespace attnprof::operators::gpu {

/// kColumns of v a block.
template <int kColumns>
void start_attention_as(const AttentionArgs& args, Stream stream) {
  if (!args.tensor_cores) {
    start_plain_attention<kColumns>(args, stream);
  } else if (args.q.dtype == DType::kBf16) {
    start_tiles<true, kColumns>(args, stream);
  } else {
    start_tiles<false, kColumns>(args, stream);
  }
}

inline void start(const AttentionArgs& args, Stream stream) {
  if (args.v_dim <= kNarrowValues) {
    start_attention_as<kNarrowValues>(args, stream);
  } else if (args.v_dim <= 64) {
    start_attention_as<64>(args, stream);
  } else {
    start_attention_as<kValueColumns>(args, stream);
  }
  start_combination(args, stream);
}

} // namespace attnprof::operators::gpu
