#pragma once
#include "operators/kernels/cuda/elements.cuh"

// Depthwise convolution and pooling on maps, channels last.
namespace attnprof::operators::gpu {

/// First input row or column of the window at an output position, and whether a tap falls on the map.
__device__ __forceinline__ std::int64_t corner(const ConvArgs& args, std::int64_t out) {
  return out * args.stride - args.pad;
}
__device__ __forceinline__ bool is_inside(std::int64_t at, std::int64_t size) {
  return at >= 0 && at < size;
}

constexpr int kDepthwisePositions = 8;
constexpr std::int64_t kDepthwiseRepeats = 8; ///< positions that one thread computes with the weights it loaded

/// 32 channels a block, whose weights lie in shared memory tap by tap, so that lanes read neighbours.
__global__ void __launch_bounds__(kWarp* kDepthwisePositions) depthwise_kernel(ATTNPROF_PARAMETER ConvArgs args) {
  ATTNPROF_SHARED(float, weights);
  const std::int64_t channels = args.space.dims[3];
  const std::int64_t taps = args.kernel_h * args.kernel_w;
  const std::int64_t first_channel = static_cast<std::int64_t>(blockIdx.y) * kWarp;
  const int thread = static_cast<int>(threadIdx.y) * kWarp + static_cast<int>(threadIdx.x);
  for (std::int64_t i = thread; i < taps * kWarp; i += kWarp * kDepthwisePositions) {
    const std::int64_t tap = i / kWarp;
    const std::int64_t channel = first_channel + i % kWarp;
    const std::int64_t at =
        channel * args.w.strides[0] + tap / args.kernel_w * args.w.strides[1] + tap % args.kernel_w * args.w.strides[2];
    weights[i] = channel < channels ? load(args.w, at) : 0.0F;
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t channel = first_channel + lane;
  if (channel >= channels) {
    return;
  }
  const std::int64_t positions = args.space.count / channels;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kDepthwisePositions * kDepthwiseRepeats;
  for (std::int64_t r = 0; r < kDepthwiseRepeats; ++r) {
    const std::int64_t position = first + r * kDepthwisePositions + threadIdx.y;
    if (position >= positions) {
      return;
    }
    const Index index = index_of(args.space, position * channels + channel);
    const std::int64_t row = corner(args, index.at[1]);
    const std::int64_t column = corner(args, index.at[2]);
    const std::int64_t x_at = index.at[0] * args.x.strides[0] + channel * args.x.strides[3];
    float sum[1] = {0.0F};
    for (std::int64_t u = 0; u < args.kernel_h; ++u) {
      for (std::int64_t v = 0; v < args.kernel_w; ++v) {
        if (is_inside(row + u, args.height) && is_inside(column + v, args.width)) {
          sum[0] += load(args.x, x_at + (row + u) * args.x.strides[1] + (column + v) * args.x.strides[2]) *
                    weights[(u * args.kernel_w + v) * kWarp + lane];
        }
      }
    }
    apply_steps<1>(sum, args.steps, index, 4);
    store(args.y, place_of(args.y, index, 4), sum[0]);
  }
}

__global__ void __launch_bounds__(kFlatBlock) pool_kernel(ATTNPROF_PARAMETER ConvArgs args) {
  for_each_flat(args.space.count, [&](std::int64_t flat) {
    const Index index = index_of(args.space, flat);
    const std::int64_t row = corner(args, index.at[1]);
    const std::int64_t column = corner(args, index.at[2]);
    const std::int64_t x_at = index.at[0] * args.x.strides[0] + index.at[3] * args.x.strides[3];
    float sum = 0.0F;
    int taps = 0;
    for (std::int64_t u = 0; u < args.kernel_h; ++u) {
      for (std::int64_t v = 0; v < args.kernel_w; ++v) {
        if (is_inside(row + u, args.height) && is_inside(column + v, args.width)) {
          sum += load(args.x, x_at + (row + u) * args.x.strides[1] + (column + v) * args.x.strides[2]);
          ++taps;
        }
      }
    }
    store(args.y, place_of(args.y, index, 4), sum / static_cast<float>(taps));
  });
}

inline void start_depthwise(const ConvArgs& args, Stream stream) {
  const std::int64_t channels = args.space.dims[3];
  const dim3 grid(static_cast<unsigned>(ceil_div(args.space.count / channels, kDepthwisePositions * kDepthwiseRepeats)),
                  static_cast<unsigned>(ceil_div(channels, kWarp)));
  const auto kernel = depthwise_kernel;
  ATTNPROF_LAUNCH(kernel, grid, dim3(kWarp, kDepthwisePositions),
                  static_cast<std::size_t>(args.kernel_h * args.kernel_w * kWarp) * sizeof(float), stream, args);
}

inline void start_pool(const ConvArgs& args, Stream stream) {
  const auto kernel = pool_kernel;
  ATTNPROF_LAUNCH_FLAT(kernel, dim3(flat_blocks(args.space.count)), dim3(kFlatBlock), stream, args);
}

} // namespace attnprof::operators::gpu
