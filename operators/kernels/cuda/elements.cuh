#pragma once
#include "operators/kernels/cuda/warp.cuh"

// Element-wise chains, copies, rotary embedding, gathers and sums: a thread per element or per kWide of them.
namespace attnprof::operators::gpu {

constexpr int kFlatBlock = 256;
constexpr std::int64_t kMostBlocks = 1 << 20; ///< beyond it threads take more than one element

inline unsigned flat_blocks(std::int64_t threads) {
  const std::int64_t blocks = ceil_div(threads, kFlatBlock);
  return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

/// Calls visit(flat) for the share of this thread of `count` positions.
template <class Visit>
__device__ __forceinline__ void for_each_flat(std::int64_t count, Visit visit) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t flat = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; flat < count;
       flat += step) {
    visit(flat);
  }
}

/// Loads that a thread starts before it waits for the first: as many bytes must be on their way as memory takes to
/// answer.
constexpr int kLoadsAhead = 2;

template <int kWidth>
__global__ void __launch_bounds__(kFlatBlock) elementwise_kernel(ATTNPROF_PARAMETER ElementwiseArgs args) {
  const int rank = args.space.rank;
  const std::int64_t count = args.space.count / kWidth;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t flat = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; flat < count;
       flat += kLoadsAhead * step) {
    Index index[kLoadsAhead];
    alignas(16) float x[kLoadsAhead][kWidth];
    ATTNPROF_UNROLL
    for (int i = 0; i < kLoadsAhead; ++i) {
      if (flat + i * step < count) {
        index[i] = index_of(args.space, (flat + i * step) * kWidth);
        load_wide<kWidth>(x[i], args.x, place_of(args.x, index[i], rank), rank > 0 ? args.x.strides[rank - 1] : 0);
      }
    }
    ATTNPROF_UNROLL
    for (int i = 0; i < kLoadsAhead; ++i) {
      if (flat + i * step < count) {
        apply_steps<kWidth>(x[i], args.steps, index[i], rank);
        store_wide<kWidth>(args.y, place_of(args.y, index[i], rank), x[i]);
      }
    }
  }
}

inline void start(const ElementwiseArgs& args, Stream stream) {
  const auto kernel = args.wide ? elementwise_kernel<kWide> : elementwise_kernel<1>;
  const std::int64_t threads = ceil_div(args.space.count / (args.wide ? kWide : 1), kLoadsAhead);
  ATTNPROF_LAUNCH_FLAT(kernel, dim3(flat_blocks(threads)), dim3(kFlatBlock), stream, args);
}

constexpr int kTransposeTile = 32;
constexpr int kTransposeRows = 8;

/// One tile of 32 x 32 per block; a column of padding keeps the banks apart.
__global__ void __launch_bounds__(kTransposeTile* kTransposeRows)
    transpose_kernel(ATTNPROF_PARAMETER TransposeArgs args) {
  ATTNPROF_SHARED(float, tile);
  const std::int64_t tiles = ceil_div(args.rows, kTransposeTile);
  const Index index = index_of(args.outer, blockIdx.y + static_cast<std::int64_t>(blockIdx.z) * gridDim.y);
  const std::int64_t x_at = place_of(args.x, index, args.outer.rank);
  const std::int64_t y_at = place_of(args.y, index, args.outer.rank);
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) % tiles * kTransposeTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) / tiles * kTransposeTile;
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = static_cast<int>(threadIdx.y); i < kTransposeTile; i += kTransposeRows) {
    const std::int64_t row = first_row + lane;
    const std::int64_t column = first_column + i;
    if (row < args.rows && column < args.columns) {
      tile[i * (kTransposeTile + 1) + lane] = load(args.x, x_at + row + column * args.x_column);
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.y); i < kTransposeTile; i += kTransposeRows) {
    const std::int64_t row = first_row + i;
    const std::int64_t column = first_column + lane;
    if (row < args.rows && column < args.columns) {
      store(args.y, y_at + row * args.y_row + column, tile[lane * (kTransposeTile + 1) + i]);
    }
  }
}

inline void start(const TransposeArgs& args, Stream stream) {
  constexpr std::int64_t kMostY = 65535;
  const std::int64_t tiles = ceil_div(args.rows, kTransposeTile) * ceil_div(args.columns, kTransposeTile);
  // The grid's y has 16 bits; the rest goes into z, as even shares so that none is left over.
  std::int64_t z = ceil_div(args.outer.count, kMostY);
  while (args.outer.count % z != 0) {
    ++z;
  }
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(args.outer.count / z), static_cast<unsigned>(z));
  const auto kernel = transpose_kernel;
  ATTNPROF_LAUNCH(kernel, grid, dim3(kTransposeTile, kTransposeRows),
                  sizeof(float) * kTransposeTile * (kTransposeTile + 1), stream, args);
}

template <int kWidth>
__global__ void __launch_bounds__(kFlatBlock) rope_kernel(ATTNPROF_PARAMETER RopeArgs args) {
  for_each_flat(args.space.count / kWidth, [&](std::int64_t flat) {
    const Index index = index_of(args.space, flat * kWidth);
    const std::int64_t x = place_of(args.x, index, args.space.rank);
    const std::int64_t y = place_of(args.y, index, args.space.rank);
    const std::int64_t angle = place_of(args.table, index, args.space.rank);
    alignas(16) float first[kWidth];
    alignas(16) float second[kWidth];
    alignas(16) float cosine[kWidth];
    alignas(16) float sine[kWidth];
    load_wide<kWidth>(first, args.x, x, 1);
    load_wide<kWidth>(second, args.x, x + args.x_half, 1);
    load_wide<kWidth>(cosine, args.table, angle, 1);
    load_wide<kWidth>(sine, args.table, angle + args.table_half, 1);
    ATTNPROF_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      const float turned = first[i] * cosine[i] - second[i] * sine[i];
      second[i] = second[i] * cosine[i] + first[i] * sine[i];
      first[i] = turned;
    }
    store_wide<kWidth>(args.y, y, first);
    store_wide<kWidth>(args.y, y + args.y_half, second);
  });
}
inline void start(const RopeArgs& args, Stream stream) {
  const auto kernel = args.wide ? rope_kernel<kWide> : rope_kernel<1>;
  ATTNPROF_LAUNCH_FLAT(kernel, dim3(flat_blocks(args.space.count / (args.wide ? kWide : 1))), dim3(kFlatBlock), stream,
                       args);
}

template <int kWidth>
__global__ void __launch_bounds__(kFlatBlock) gather_kernel(ATTNPROF_PARAMETER GatherArgs args) {
  for_each_flat(args.space.count / kWidth, [&](std::int64_t flat) {
    const Index index = index_of(args.space, flat * kWidth);
    const float from = load(args.index, position(index, args.row_dim) * args.index.strides[0]);
    alignas(16) float value[kWidth] = {};
    if (from >= 0.0F) {
      const std::int64_t at = place_of(args.x, index, args.space.rank) + static_cast<std::int64_t>(from) * args.x_row;
      load_wide<kWidth>(value, args.x, at, args.x.strides[args.space.rank - 1]);
    }
    store_wide<kWidth>(args.y, place_of(args.y, index, args.space.rank), value);
  });
}
inline void start(const GatherArgs& args, Stream stream) {
  const auto kernel = args.wide ? gather_kernel<kWide> : gather_kernel<1>;
  ATTNPROF_LAUNCH_FLAT(kernel, dim3(flat_blocks(args.space.count / (args.wide ? kWide : 1))), dim3(kFlatBlock), stream,
                       args);
}

__global__ void __launch_bounds__(kFlatBlock) cumsum_kernel(ATTNPROF_PARAMETER CumSumArgs args) {
  for_each_flat(args.space.count, [&](std::int64_t flat) {
    const Index index = index_of(args.space, flat);
    std::int64_t x = place_of(args.x, index, args.space.rank);
    std::int64_t y = place_of(args.y, index, args.space.rank);
    float sum = 0.0F;
    for (std::int64_t g = 0; g < args.groups; ++g) {
      store(args.y, y, sum);
      sum += g + 1 < args.groups ? load(args.x, x) : 0.0F;
      x += args.x_group;
      y += args.y_group;
    }
  });
}
inline void start(const CumSumArgs& args, Stream stream) {
  const auto kernel = cumsum_kernel;
  ATTNPROF_LAUNCH_FLAT(kernel, dim3(flat_blocks(args.space.count)), dim3(kFlatBlock), stream, args);
}

__global__ void __launch_bounds__(kFlatBlock) channel_conv_kernel(ATTNPROF_PARAMETER ChannelConvArgs args) {
  for_each_flat(args.space.count, [&](std::int64_t flat) {
    const std::int64_t batch = flat / args.space.dims[1];
    const std::int64_t channel = flat % args.space.dims[1];
    float sum = 0.0F;
    for (std::int64_t u = 0; u < args.taps; ++u) {
      const std::int64_t from = channel + u - args.taps / 2;
      if (from >= 0 && from < args.space.dims[1]) {
        sum += load(args.x, batch * args.x.strides[0] + from * args.x.strides[1]) * load(args.w, u * args.w.strides[0]);
      }
    }
    store(args.y, batch * args.y.strides[0] + channel * args.y.strides[1], sum);
  });
}
inline void start(const ChannelConvArgs& args, Stream stream) {
  const auto kernel = channel_conv_kernel;
  ATTNPROF_LAUNCH_FLAT(kernel, dim3(flat_blocks(args.space.count)), dim3(kFlatBlock), stream, args);
}

constexpr int kReduceRows = 8;

/// 32 columns a block; eight rows of threads share the rows, and their results meet in shared memory.
__global__ void __launch_bounds__(kWarp* kReduceRows) reduce_kernel(ATTNPROF_PARAMETER ReduceArgs args) {
  ATTNPROF_SHARED(float, partial);
  const int lane = static_cast<int>(threadIdx.x);
  const int part = static_cast<int>(threadIdx.y);
  const std::int64_t column_tiles = ceil_div(args.columns, kWarp);
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) % column_tiles * kWarp + lane;
  const Index index = index_of(args.outer, static_cast<std::int64_t>(blockIdx.x) / column_tiles);
  const bool takes_max = args.kind == ReduceKind::kMax;
  float total = takes_max ? -INFINITY : 0.0F;
  if (column < args.columns) {
    const std::int64_t at = place_of(args.x, index, args.outer.rank) + column * args.x_column;
    for (std::int64_t row = part; row < args.rows; row += kReduceRows) {
      const float x = load(args.x, at + row * args.x_row);
      total = takes_max ? fmaxf(total, x) : total + x;
    }
  }
  partial[part * kWarp + lane] = total;
  __syncthreads();
  if (part != 0 || column >= args.columns) {
    return;
  }
  for (int other = 1; other < kReduceRows; ++other) {
    const float x = partial[other * kWarp + lane];
    total = takes_max ? fmaxf(total, x) : total + x;
  }
  if (args.kind == ReduceKind::kMean) {
    total /= static_cast<float>(args.rows);
  }
  store(args.y, place_of(args.y, index, args.outer.rank) + column * args.y_column, total);
}
inline void start(const ReduceArgs& args, Stream stream) {
  const auto blocks = static_cast<unsigned>(args.outer.count * ceil_div(args.columns, kWarp));
  const auto kernel = reduce_kernel;
  ATTNPROF_LAUNCH(kernel, dim3(blocks), dim3(kWarp, kReduceRows), sizeof(float) * kWarp * kReduceRows, stream, args);
}

} // namespace attnprof::operators::gpu
