#pragma once
#include "operators/kernels/cuda/maps.cuh"

// Products and dense convolutions with plain multiply-adds in f32: the fallback where the library does not take a
// product, and what the emulation runs. A block computes a tile of 32 x 32, a thread 4 x 4 of it.
namespace attnprof::operators::gpu {

constexpr int kProductTile = 32;
constexpr int kProductInner = 16;
constexpr int kProductThreads = 64;
constexpr int kProductEach = 4; ///< rows, and columns, of a thread
constexpr int kProductLine = kProductTile + 1;

/// Element (row, inner) and (inner, column) of the factors, and where a result goes.
struct StridedProduct {
  const ProductArgs& args;
  Index batch;

  __device__ __forceinline__ StridedProduct(const ProductArgs& product, std::int64_t flat)
      : args(product), batch(index_of(product.batch, flat)) {}
  __device__ __forceinline__ std::int64_t rows() const { return args.m; }
  __device__ __forceinline__ std::int64_t columns() const { return args.n; }
  __device__ __forceinline__ std::int64_t inner() const { return args.k; }
  __device__ __forceinline__ float factor(float x) const { return args.tf32 ? tf32_value(x) : x; }
  __device__ __forceinline__ float a(std::int64_t row, std::int64_t k) const {
    return factor(load(args.a, place_of(args.a, batch, args.batch.rank) + row * args.a_row + k * args.a_column));
  }
  __device__ __forceinline__ float b(std::int64_t k, std::int64_t column) const {
    return factor(load(args.b, place_of(args.b, batch, args.batch.rank) + k * args.b_row + column * args.b_column));
  }
  __device__ __forceinline__ void put(std::int64_t row, std::int64_t column, float value) const {
    const int rank = args.batch.rank + 2;
    Index index = batch;
    ATTNPROF_UNROLL
    for (int d = 0; d < kMaxRank; ++d) {
      index.at[d] = d == rank - 2 ? row : d == rank - 1 ? column : index.at[d];
    }
    float x[1] = {value};
    apply_steps<1>(x, args.steps, index, rank);
    store(args.c, place_of(args.c, batch, args.batch.rank) + row * args.c_row + column * args.c_column, x[0]);
  }
};

/// A convolution as a product: rows are output positions, the inner dimension runs over taps and channels of a group.
struct ConvProduct {
  const ConvArgs& args;
  std::int64_t group;

  __device__ __forceinline__ ConvProduct(const ConvArgs& conv, std::int64_t flat) : args(conv), group(flat) {}
  __device__ __forceinline__ std::int64_t columns() const { return args.space.dims[3] / args.groups; }
  __device__ __forceinline__ std::int64_t rows() const { return args.space.count / args.space.dims[3]; }
  __device__ __forceinline__ std::int64_t inner() const { return args.kernel_h * args.kernel_w * args.group_channels; }
  __device__ __forceinline__ Index index(std::int64_t row, std::int64_t column) const {
    return index_of(args.space, row * args.space.dims[3] + group * columns() + column);
  }
  __device__ __forceinline__ float a(std::int64_t row, std::int64_t k) const {
    const Index out = index(row, 0);
    const std::int64_t tap = k / args.group_channels;
    const std::int64_t channel = group * args.group_channels + k % args.group_channels;
    const std::int64_t y = corner(args, out.at[1]) + tap / args.kernel_w;
    const std::int64_t x = corner(args, out.at[2]) + tap % args.kernel_w;
    if (!is_inside(y, args.height) || !is_inside(x, args.width)) {
      return 0.0F;
    }
    return load(args.x, out.at[0] * args.x.strides[0] + y * args.x.strides[1] + x * args.x.strides[2] +
                            channel * args.x.strides[3]);
  }
  __device__ __forceinline__ float b(std::int64_t k, std::int64_t column) const {
    return load(args.w, (group * columns() + column) * inner() + k);
  }
  __device__ __forceinline__ void put(std::int64_t row, std::int64_t column, float value) const {
    const Index out = index(row, column);
    float x[1] = {value};
    apply_steps<1>(x, args.steps, out, 4);
    store(args.y, place_of(args.y, out, 4), x[0]);
  }
};

template <class Product>
__device__ __forceinline__ void product_tile(const Product& product, float* shared) {
  float* a_tile = shared;
  float* b_tile = shared + kProductInner * kProductLine;
  const std::int64_t row_tiles = ceil_div(product.rows(), kProductTile);
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) % row_tiles * kProductTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) / row_tiles * kProductTile;
  const int thread = static_cast<int>(threadIdx.x);
  const int my_row = thread / 8 * kProductEach;
  const int my_column = thread % 8;
  float sums[kProductEach][kProductEach] = {};
  for (std::int64_t k0 = 0; k0 < product.inner(); k0 += kProductInner) {
    for (int i = thread; i < kProductTile * kProductInner; i += kProductThreads) {
      // Neighbouring threads read neighbours along the inner dimension of a, and along the columns of b.
      const std::int64_t row = first_row + i / kProductInner;
      const int k = i % kProductInner;
      const bool has_a = row < product.rows() && k0 + k < product.inner();
      a_tile[k * kProductLine + i / kProductInner] = has_a ? product.a(row, k0 + k) : 0.0F;
      const std::int64_t column = first_column + i % kProductTile;
      const int inner = i / kProductTile;
      const bool has_b = column < product.columns() && k0 + inner < product.inner();
      b_tile[inner * kProductLine + i % kProductTile] = has_b ? product.b(k0 + inner, column) : 0.0F;
    }
    __syncthreads();
    for (int k = 0; k < kProductInner; ++k) {
      ATTNPROF_UNROLL
      for (int r = 0; r < kProductEach; ++r) {
        const float a = a_tile[k * kProductLine + my_row + r];
        ATTNPROF_UNROLL
        for (int c = 0; c < kProductEach; ++c) {
          sums[r][c] += a * b_tile[k * kProductLine + my_column + 8 * c];
        }
      }
    }
    __syncthreads();
  }
  // Through shared memory: neighbouring threads write neighbours, and the steps are compiled once.
  ATTNPROF_UNROLL
  for (int r = 0; r < kProductEach; ++r) {
    ATTNPROF_UNROLL
    for (int c = 0; c < kProductEach; ++c) {
      shared[(my_row + r) * kProductLine + my_column + 8 * c] = sums[r][c];
    }
  }
  __syncthreads();
  ATTNPROF_UNROLL_NOT
  for (int i = thread; i < kProductTile * kProductTile; i += kProductThreads) {
    const std::int64_t row = first_row + i / kProductTile;
    const std::int64_t column = first_column + i % kProductTile;
    if (row < product.rows() && column < product.columns()) {
      product.put(row, column, shared[i / kProductTile * kProductLine + i % kProductTile]);
    }
  }
}
static_assert(kProductTile <= 2 * kProductInner, "the tile of results takes the place of both factors'");

template <class Product, class Args>
__global__ void __launch_bounds__(kProductThreads) product_kernel(ATTNPROF_PARAMETER Args args) {
  ATTNPROF_SHARED(float, shared);
  const Product product(args, static_cast<std::int64_t>(blockIdx.z) * gridDim.y + blockIdx.y);
  product_tile(product, shared);
}

template <class Product, class Args>
void start_product(const Args& args, std::int64_t rows, std::int64_t columns, std::int64_t batch, Stream stream) {
  constexpr std::int64_t kMostY = 65535;
  std::int64_t z = ceil_div(batch, kMostY);
  while (batch % z != 0) {
    ++z;
  }
  const std::int64_t tiles = ceil_div(rows, kProductTile) * ceil_div(columns, kProductTile);
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(batch / z), static_cast<unsigned>(z));
  const auto kernel = product_kernel<Product, Args>;
  ATTNPROF_LAUNCH(kernel, grid, dim3(kProductThreads), sizeof(float) * 2 * kProductInner * kProductLine, stream, args);
}

inline void start(const ProductArgs& args, Stream stream) {
  start_product<StridedProduct>(args, args.m, args.n, args.batch.count, stream);
}

inline void start(const ConvArgs& args, Stream stream) {
  switch (args.kind) {
  case ConvArgs::Kind::kDepthwise: return start_depthwise(args, stream);
  case ConvArgs::Kind::kPool: return start_pool(args, stream);
  case ConvArgs::Kind::kDense:
    return start_product<ConvProduct>(args, args.space.count / args.space.dims[3], args.space.dims[3] / args.groups,
                                      args.groups, stream);
  }
}

} // namespace attnprof::operators::gpu
