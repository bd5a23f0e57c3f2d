#pragma once
#include "operators/kernels/cuda/warp.cuh"

// Softmax and norms: a warp or a block per row. The row is read once and kept in shared memory where it fits.
namespace attnprof::operators::gpu {

constexpr int kRowsBlock = 128;
constexpr int kRowsWarps = kRowsBlock / kWarp;
constexpr std::int64_t kWarpRow = 1024;  ///< columns up to which one warp takes a row
constexpr std::int64_t kKeptRow = 11264; ///< columns that a block keeps: 44 KiB

/// Access to one row: from memory, or from the copy in shared memory that the first pass leaves.
template <int kThreads, int kWidth>
struct Row {
  const RowsArgs& args;
  std::int64_t x_at, y_at;
  float* kept; ///< null: too long
  int lane;

  template <class Visit>
  __device__ __forceinline__ void each(Visit visit) const {
    for (std::int64_t j = static_cast<std::int64_t>(lane) * kWidth; j < args.columns; j += kThreads * kWidth) {
      visit(j);
    }
  }
  __device__ __forceinline__ void read(float (&out)[kWidth], std::int64_t j) const {
    load_wide<kWidth>(out, args.x, x_at + j * args.x_column, 1);
  }
  __device__ __forceinline__ void again(float (&out)[kWidth], std::int64_t j) const {
    if (kept == nullptr) {
      read(out, j);
      return;
    }
    // In pieces of 16 bytes: lanes that move eight single values each would meet in the same banks.
    if constexpr (kWidth == 1) {
      out[0] = kept[j];
    } else {
      copy_16_bytes(out, kept + j);
      copy_16_bytes(out + 4, kept + j + 4);
    }
  }
  __device__ __forceinline__ void keep(const float (&in)[kWidth], std::int64_t j) const {
    if (kept == nullptr) {
      return;
    }
    if constexpr (kWidth == 1) {
      kept[j] = in[0];
    } else {
      ATTNPROF_UNROLL
      for (int i = 0; i < kWidth; i += 4) {
        share_16_bytes(kept + j + i, __float_as_uint(in[i]), __float_as_uint(in[i + 1]), __float_as_uint(in[i + 2]),
                       __float_as_uint(in[i + 3]));
      }
    }
  }
};

template <int kThreads, int kWidth>
__device__ __forceinline__ void softmax_row(const Row<kThreads, kWidth>& row, float* shared) {
  float top = -INFINITY;
  row.each([&](std::int64_t j) {
    alignas(16) float x[kWidth];
    row.read(x, j);
    row.keep(x, j);
    ATTNPROF_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      top = fmaxf(top, x[i]);
    }
  });
  top = fold<Maximum, kThreads>(top, shared);
  const float shift = top == -INFINITY ? 0.0F : top;
  float sum = 0.0F;
  row.each([&](std::int64_t j) {
    alignas(16) float x[kWidth];
    row.again(x, j);
    ATTNPROF_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      x[i] = expf(x[i] - shift);
      sum += x[i];
    }
    row.keep(x, j);
  });
  sum = fold<Sum, kThreads>(sum, shared);
  const float divisor = sum == 0.0F ? 1.0F : sum;
  row.each([&](std::int64_t j) {
    alignas(16) float x[kWidth];
    row.again(x, j);
    ATTNPROF_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      x[i] = (row.kept != nullptr ? x[i] : expf(x[i] - shift)) / divisor;
    }
    store_wide<kWidth>(row.args.y, row.y_at + j * row.args.y_column, x);
  });
}

template <int kThreads, int kWidth>
__device__ __forceinline__ void norm_row(const Row<kThreads, kWidth>& row, float* shared) {
  const RowsArgs& args = row.args;
  const bool centred = args.kind == RowsArgs::Kind::kLayerNorm;
  const auto count = static_cast<float>(args.columns);
  float sum = 0.0F;
  row.each([&](std::int64_t j) {
    alignas(16) float x[kWidth];
    row.read(x, j);
    row.keep(x, j);
    ATTNPROF_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      sum += x[i];
    }
  });
  const float mean = centred ? fold<Sum, kThreads>(sum, shared) / count : 0.0F;
  float squares = 0.0F;
  row.each([&](std::int64_t j) {
    alignas(16) float x[kWidth];
    row.again(x, j);
    ATTNPROF_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      squares += (x[i] - mean) * (x[i] - mean);
    }
  });
  squares = fold<Sum, kThreads>(squares, shared);
  const float factor = 1.0F / sqrtf(squares / count + args.eps);
  row.each([&](std::int64_t j) {
    alignas(16) float x[kWidth];
    alignas(16) float gamma[kWidth];
    alignas(16) float beta[kWidth] = {};
    row.again(x, j);
    load_wide<kWidth>(gamma, args.gamma, j * args.gamma.strides[0], 1);
    if (centred) {
      load_wide<kWidth>(beta, args.beta, j * args.beta.strides[0], 1);
    }
    ATTNPROF_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      x[i] = (x[i] - mean) * factor * gamma[i] + beta[i];
    }
    store_wide<kWidth>(args.y, row.y_at + j * args.y_column, x);
  });
}

/// kThreads 32: a warp per row; else the whole block.
template <int kThreads, int kWidth>
__global__ void __launch_bounds__(kRowsBlock) rows_kernel(ATTNPROF_PARAMETER RowsArgs args) {
  ATTNPROF_SHARED(float, shared);
  constexpr int kRows = kRowsBlock / kThreads;
  const int slot = static_cast<int>(threadIdx.x) / kThreads;
  const std::int64_t flat = static_cast<std::int64_t>(blockIdx.x) * kRows + slot;
  if (flat >= args.outer.count) {
    return; // whole warps leave, and a block of one row never does
  }
  const Index index = index_of(args.outer, flat);
  const bool keeps = args.columns <= (kThreads == kWarp ? kWarpRow : kKeptRow);
  float* kept = keeps ? shared + kRowsWarps + slot * ((args.columns + kWidth - 1) / kWidth * kWidth) : nullptr;
  const Row<kThreads, kWidth> row{args, place_of(args.x, index, args.outer.rank),
                                  place_of(args.y, index, args.outer.rank), kept,
                                  static_cast<int>(threadIdx.x) % kThreads};
  if (args.kind == RowsArgs::Kind::kSoftmax) {
    softmax_row(row, shared);
  } else {
    norm_row(row, shared);
  }
}

template <int kThreads, int kWidth>
void start_rows_as(const RowsArgs& args, Stream stream) {
  constexpr int kRows = kRowsBlock / kThreads;
  const bool keeps = args.columns <= (kThreads == kWarp ? kWarpRow : kKeptRow);
  const std::int64_t kept = keeps ? kRows * round_up(args.columns, kWidth) : 0;
  const auto blocks = static_cast<unsigned>(ceil_div(args.outer.count, kRows));
  const auto kernel = rows_kernel<kThreads, kWidth>;
  ATTNPROF_LAUNCH(kernel, dim3(blocks), dim3(kRowsBlock), static_cast<std::size_t>((kRowsWarps + kept) * 4), stream,
                  args);
}

inline void start(const RowsArgs& args, Stream stream) {
  if (args.columns <= kWarpRow) {
    args.wide ? start_rows_as<kWarp, kWide>(args, stream) : start_rows_as<kWarp, 1>(args, stream);
  } else {
    args.wide ? start_rows_as<kRowsBlock, kWide>(args, stream) : start_rows_as<kRowsBlock, 1>(args, stream);
  }
}

} // namespace attnprof::operators::gpu
