#pragma once
#include "operators/kernels/gpu/device.hpp"

#include <memory>

namespace attnprof::profilers::cuda {

/// The device of this ordinal, with a context and a stream. Throws operators::Error(kUnavailable).
std::unique_ptr<operators::gpu::Device> open_cuda_device(int ordinal);

} // namespace attnprof::profilers::cuda
