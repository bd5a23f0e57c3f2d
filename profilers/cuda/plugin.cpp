// What the program finds in this library.
#include "attnprof_version.hpp"
#include "operators/core/error.hpp"
#include "profilers/cuda/cuda_device.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <string>

#define ATTNPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace gpu = attnprof::operators::gpu;

ATTNPROF_EXPORT gpu::PluginIdentity attnprof_gpu_identity() {
  static const std::string id =
      fmt::format("{} {} {} {}", attnprof::kVersion, attnprof::kCommit, attnprof::kGpuSeam, attnprof::kCompiler);
  return {gpu::kPluginAbi, id.c_str()};
}

ATTNPROF_EXPORT std::unique_ptr<gpu::Device> attnprof_gpu_open() {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code != cudaSuccess || devices == 0) {
    throw attnprof::operators::Error(
        attnprof::operators::ErrorKind::kUnavailable,
        fmt::format("--device cuda is not possible: CUDA finds no usable device ({}); check nvidia-smi, or use "
                    "--device cpu",
                    cudaGetErrorString(code)));
  }
  return attnprof::profilers::cuda::open_cuda_device(0);
}
