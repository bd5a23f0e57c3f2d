#pragma once
#include "operators/kernels/cuda/attention.cuh"

// The fused attention core on tensor cores, through mma.m16n8k16: four warps, each with 16 rows of a tile of 64. Scores
// stay in registers and become the left factor of the second product without going through memory.
namespace attnprof::operators::gpu {

constexpr int kTensorWarps = 4;
constexpr int kTensorThreads = kTensorWarps * kWarp;
constexpr int kTensorTileRows = 64;
constexpr int kTensorTileKeys = 64; ///< as the planner counts on
constexpr int kSkew = 8;            ///< elements between rows in shared memory, so that eight rows meet different banks

__device__ __forceinline__ std::uint32_t packed(DType dtype, float low, float high) {
  return static_cast<std::uint32_t>(half_bits(dtype, low)) | static_cast<std::uint32_t>(half_bits(dtype, high)) << 16U;
}

/// Copies `rows` rows of `columns` values into shared memory, padded with zeros to `width` columns and all of
/// `tile_rows`; `place(row)` is where a row begins.
template <class Place>
__device__ __forceinline__ void load_tile(std::uint16_t* tile, int tile_rows, int width, const Operand& from,
                                          std::int64_t rows, std::int64_t columns, std::int64_t column_stride,
                                          Place place) {
  const auto* values = reinterpret_cast<const std::uint16_t*>(from.address);
  const int chunks = width / kWide;
  for (int i = static_cast<int>(threadIdx.x); i < tile_rows * chunks; i += kTensorThreads) {
    const int row = i / chunks;
    const int column = i % chunks * kWide;
    std::uint16_t* to = tile + row * (width + kSkew) + column;
    const std::int64_t at = row < rows ? place(row) + column * column_stride : 0;
    const bool aligned = (reinterpret_cast<std::uintptr_t>(values + at) & 15U) == 0;
    if (row < rows && column + kWide <= columns && column_stride == 1 && aligned) {
      copy_16_bytes(to, values + at);
      continue;
    }
    for (int e = 0; e < kWide; ++e) {
      to[e] = row < rows && column + e < columns ? values[at + e * column_stride] : std::uint16_t{0};
    }
  }
}

/// kColumns of v a block.
template <bool kBf16, int kColumns>
__global__ void __launch_bounds__(kTensorThreads) tensor_attention_kernel(ATTNPROF_PARAMETER AttentionArgs args) {
  constexpr int kKeys = kTensorTileKeys;
  constexpr int kScoreTiles = kKeys / 8;
  constexpr int kValueTiles = kColumns / 8;
  ATTNPROF_SHARED(std::uint16_t, shared);
  const AttentionBlock block = block_of(args);
  const int qk = static_cast<int>((args.qk_dim + 15) / 16 * 16);
  std::uint16_t* q_tile = shared;                                  // [64][qk + skew]
  std::uint16_t* k_tile = q_tile + kTensorTileRows * (qk + kSkew); // [keys][qk + skew]
  std::uint16_t* v_tile = k_tile + kKeys * (qk + kSkew);           // [keys][kColumns + skew]
  load_tile(q_tile, kTensorTileRows, qk, args.q, block.last_row - block.first_row, args.qk_dim, args.q.strides[4],
            [&](std::int64_t row) { return row_place(args, block, args.q, block.first_row + row); });
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int group = lane / 4; // names of the PTX manual
  const int quad = lane % 4;
  const int warp_row = static_cast<int>(threadIdx.x) / kWarp * 16;
  const std::int64_t rows[2] = {block.first_row + warp_row + group, block.first_row + warp_row + group + 8};
  float mixed[kValueTiles][4] = {};
  float tops[2] = {-INFINITY, -INFINITY};
  float sums[2] = {0.0F, 0.0F};
  for (std::int64_t begin = block.key_begin; begin < block.key_end; begin += kKeys) {
    const std::int64_t keys = args.n_k - begin < kKeys ? args.n_k - begin : kKeys;
    __syncthreads();
    load_tile(k_tile, kKeys, qk, args.k, keys, args.qk_dim, args.k.strides[4],
              [&](std::int64_t key) { return key_place(block, args.k, begin + key); });
    load_tile(v_tile, kKeys, kColumns, args.v, keys, args.v_dim - block.first_column, args.v.strides[4],
              [&](std::int64_t key) {
                return key_place(block, args.v, begin + key) + block.first_column * args.v.strides[4];
              });
    __syncthreads();
    float scores[kScoreTiles][4] = {};
    for (int k0 = 0; k0 < qk; k0 += 16) {
      const std::uint16_t* q = q_tile + (warp_row + group) * (qk + kSkew) + k0 + quad * 2;
      const std::uint32_t a[4] = {pair_at(q), pair_at(q + 8 * (qk + kSkew)), pair_at(q + 8),
                                  pair_at(q + 8 * (qk + kSkew) + 8)};
      ATTNPROF_UNROLL
      for (int tile = 0; tile < kScoreTiles; ++tile) {
        const std::uint16_t* k = k_tile + (tile * 8 + group) * (qk + kSkew) + k0 + quad * 2;
        const std::uint32_t b[2] = {pair_at(k), pair_at(k + 8)};
        multiply_tile<kBf16>(scores[tile], a, b);
      }
    }
    float new_tops[2] = {tops[0], tops[1]};
    ATTNPROF_UNROLL
    for (int tile = 0; tile < kScoreTiles; ++tile) {
      ATTNPROF_UNROLL
      for (int e = 0; e < 4; ++e) {
        const std::int64_t key = begin + tile * 8 + quad * 2 + e % 2;
        scores[tile][e] = masked_score(args, block, rows[e / 2], key, scores[tile][e]);
        new_tops[e / 2] = fmaxf(new_tops[e / 2], scores[tile][e]);
      }
    }
    float shifts[2];
    float corrections[2];
    ATTNPROF_UNROLL
    for (int half = 0; half < 2; ++half) {
      new_tops[half] = fold_lanes<Maximum, 4>(new_tops[half]);
      shifts[half] = new_tops[half] == -INFINITY ? 0.0F : new_tops[half];
      corrections[half] = args.squared_relu ? 1.0F : expf(tops[half] - shifts[half]);
      tops[half] = new_tops[half];
      sums[half] *= corrections[half];
    }
    ATTNPROF_UNROLL
    for (int tile = 0; tile < kScoreTiles; ++tile) {
      ATTNPROF_UNROLL
      for (int e = 0; e < 4; ++e) {
        const float score = scores[tile][e];
        scores[tile][e] = args.squared_relu ? squared_relu_of(score) : expf(score - shifts[e / 2]);
        sums[e / 2] += scores[tile][e];
      }
    }
    ATTNPROF_UNROLL
    for (int tile = 0; tile < kValueTiles; ++tile) {
      ATTNPROF_UNROLL
      for (int e = 0; e < 4; ++e) {
        mixed[tile][e] *= corrections[e / 2];
      }
    }
    constexpr DType kDType = kBf16 ? DType::kBf16 : DType::kF16;
    ATTNPROF_UNROLL
    for (int k0 = 0; k0 < kKeys; k0 += 16) {
      const float(&left)[4] = scores[k0 / 8];
      const float(&right)[4] = scores[k0 / 8 + 1];
      const std::uint32_t a[4] = {packed(kDType, left[0], left[1]), packed(kDType, left[2], left[3]),
                                  packed(kDType, right[0], right[1]), packed(kDType, right[2], right[3])};
      ATTNPROF_UNROLL
      for (int tile = 0; tile < kValueTiles; ++tile) {
        std::uint32_t b[2];
        load_transposed(b, v_tile + k0 * (kColumns + kSkew) + tile * 8, kColumns + kSkew);
        multiply_tile<kBf16>(mixed[tile], a, b);
      }
    }
  }
  ATTNPROF_UNROLL
  for (int half = 0; half < 2; ++half) {
    sums[half] = fold_lanes<Sum, 4>(sums[half]);
  }
  ATTNPROF_UNROLL
  for (int tile = 0; tile < kValueTiles; ++tile) {
    ATTNPROF_UNROLL
    for (int e = 0; e < 4; ++e) {
      const std::int64_t column = block.first_column + tile * 8 + quad * 2 + e % 2;
      if (rows[e / 2] < block.last_row && column < args.v_dim) {
        put_value(args, block, rows[e / 2], column, mixed[tile][e], sums[e / 2]);
      }
    }
  }
  for (int half = 0; half < 2; ++half) {
    if (quad == 0 && rows[half] < block.last_row) {
      put_state(args, block, rows[half], tops[half], sums[half]);
    }
  }
}

template <bool kBf16, int kColumns>
void start_tensor_attention(const AttentionArgs& args, Stream stream) {
  const auto kernel = tensor_attention_kernel<kBf16, kColumns>;
  ATTNPROF_ALLOW_SHARED(kernel, args.shared_bytes);
  ATTNPROF_LAUNCH(kernel, attention_grid(args), dim3(kTensorThreads), static_cast<std::size_t>(args.shared_bytes),
                  stream, args);
}

/// kColumns of v a block.
template <int kColumns>
void start_attention_as(const AttentionArgs& args, Stream stream) {
  if (!args.tensor_cores) {
    start_plain_attention<kColumns>(args, stream);
  } else if (args.q.dtype == DType::kBf16) {
    start_tensor_attention<true, kColumns>(args, stream);
  } else {
    start_tensor_attention<false, kColumns>(args, stream);
  }
}

inline void start(const AttentionArgs& args, Stream stream) {
  if (args.v_dim <= 32) {
    start_attention_as<32>(args, stream);
  } else if (args.v_dim <= 64) {
    start_attention_as<64>(args, stream);
  } else {
    start_attention_as<kValueColumns>(args, stream);
  }
  start_combination(args, stream);
}

} // namespace attnprof::operators::gpu
