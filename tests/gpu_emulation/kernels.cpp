// The kernels that nvcc compiles for the device, compiled for the emulation. The order of the includes matters: the
// emulated names come first.
// clang-format off
#include "tests/gpu_emulation/dialect.hpp"
#include "operators/kernels/cuda/launch.cuh"
// clang-format on
#include "tests/gpu_emulation/kernels.hpp"

namespace attnprof::tests::emulation {

void run_own_kernel(const operators::gpu::LaunchArgs& args) {
  operators::gpu::start_own(args, nullptr);
}

} // namespace attnprof::tests::emulation
