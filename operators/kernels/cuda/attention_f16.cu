#include "operators/kernels/cuda/attention_tensor.cuh"

namespace attnprof::operators::gpu {

template void start_tiles<false, 32>(const AttentionArgs& args, Stream stream);
template void start_tiles<false, 64>(const AttentionArgs& args, Stream stream);
template void start_tiles<false, 128>(const AttentionArgs& args, Stream stream);

} // namespace attnprof::operators::gpu
