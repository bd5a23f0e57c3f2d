#pragma once
#include "operators/kernels/cuda/element.cuh"

// Sums and maxima over the lanes of a warp or the threads of a block.
namespace attnprof::operators::gpu {

constexpr int kWarp = 32;

struct Sum {
  static constexpr float kNeutral = 0.0F;
  __device__ __forceinline__ static float of(float a, float b) { return a + b; }
};
struct Maximum {
  static constexpr float kNeutral = -INFINITY;
  __device__ __forceinline__ static float of(float a, float b) { return fmaxf(a, b); }
};

/// Over `kLanes` neighbouring lanes; each gets the result.
template <class Fold, int kLanes = kWarp>
__device__ __forceinline__ float fold_lanes(float value) {
  ATTNPROF_UNROLL
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    value = Fold::of(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  return value;
}

/// Over kThreads threads, a warp or the whole block; `shared` holds a float a warp. Each gets the result.
template <class Fold, int kThreads>
__device__ __forceinline__ float fold(float value, float* shared) {
  value = fold_lanes<Fold>(value);
  if constexpr (kThreads > kWarp) {
    __syncthreads(); // the previous use of `shared` is over
    if (threadIdx.x % kWarp == 0) {
      shared[threadIdx.x / kWarp] = value;
    }
    __syncthreads();
    value = Fold::kNeutral;
    for (int warp = 0; warp < kThreads / kWarp; ++warp) {
      value = Fold::of(value, shared[warp]);
    }
  }
  return value;
}

} // namespace attnprof::operators::gpu
