#pragma once
#include "operators/kernels/gpu/args.hpp"

namespace attnprof::tests::emulation {

/// Runs the own kernel of a launch on the host, block by block. Throws std::runtime_error where its barriers diverge.
void run_own_kernel(const operators::gpu::LaunchArgs& args);

} // namespace attnprof::tests::emulation
