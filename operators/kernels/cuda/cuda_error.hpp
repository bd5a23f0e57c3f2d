#pragma once
#include "operators/core/error.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace attnprof::operators::gpu {

/// Throws Error(kMemory) where the device has no more, else Error(kInternal), with what was tried and CUDA's own words.
inline void require(cudaError_t code, const char* what) {
  if (code == cudaSuccess) {
    return;
  }
  static_cast<void>(cudaGetLastError()); // an error of this call alone must not be found by the next one
  const ErrorKind kind = code == cudaErrorMemoryAllocation ? ErrorKind::kMemory : ErrorKind::kInternal;
  throw Error(kind, fmt::format("{} failed with {} ({}): {}", what, cudaGetErrorName(code), static_cast<int>(code),
                                cudaGetErrorString(code)));
}

} // namespace attnprof::operators::gpu
