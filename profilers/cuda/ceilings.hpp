#pragma once
#include "operators/kernels/gpu/device.hpp"

#include <cublasLt.h>

struct CUstream_st;

namespace attnprof::profilers::cuda {

/// Peaks of the device by loops of our own and the library's largest products. `time_s` times a body on the device.
std::vector<operators::gpu::DeviceCeiling>
measure_ceilings(const operators::gpu::DeviceFacts& facts, std::int64_t free_bytes, cublasLtHandle_t library,
                 CUstream_st* stream, const std::function<double(const std::function<void()>&)>& time_s);

} // namespace attnprof::profilers::cuda
