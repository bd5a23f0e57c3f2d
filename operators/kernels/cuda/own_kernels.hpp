#pragma once
#include "operators/kernels/gpu/args.hpp"

struct CUstream_st;

// What nvcc compiled, for the sources of the plugin that the host's compiler builds.
namespace attnprof::operators::gpu {

/// Starts the own kernel of a launch on a stream; errors of the start are left for cudaGetLastError.
void start_own_kernel(const LaunchArgs& args, CUstream_st* stream);
void start_own_attention(const AttentionArgs& args, CUstream_st* stream);

} // namespace attnprof::operators::gpu
