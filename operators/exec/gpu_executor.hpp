#pragma once
#include "operators/exec/executor.hpp"
#include "operators/kernels/gpu/device.hpp"

namespace attnprof::operators {

/// Programs on a GPU, dtypes f32, bf16 and f16: one block of its memory per program, one kernel per launch.
std::unique_ptr<Executor> make_gpu_executor(std::shared_ptr<gpu::Device> device);

} // namespace attnprof::operators
