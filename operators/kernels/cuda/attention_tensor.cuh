#pragma once
#include "operators/kernels/cuda/attention.cuh"

// The fused attention core on tensor cores, through mma.m16n8k16: four warps, each with 16 or 32 rows of a tile. Scores
// stay in registers and become the left factor of the second product without going through memory. Keys and values
// arrive by asynchronous copies; where shared memory has room for two tiles of them, one is multiplied while the next
// arrives. Exponentials are taken in base two, as the unit for them computes.
namespace attnprof::operators::gpu {

constexpr int kTensorWarps = 4;
constexpr int kTensorThreads = kTensorWarps * kWarp;
constexpr int kTensorTileKeys = 64; ///< as the planner counts on
constexpr int kSkew = 8;            ///< elements between rows in shared memory, so that eight rows meet different banks
constexpr float kLog2E = 1.44269504088896340736F;

__device__ __forceinline__ std::uint32_t packed(DType dtype, float low, float high) {
  return static_cast<std::uint32_t>(half_bits(dtype, low)) | static_cast<std::uint32_t>(half_bits(dtype, high)) << 16U;
}

/// Copies `rows` rows of `columns` values into shared memory, padded with zeros to `width` columns and all of
/// `tile_rows`; `place(row)` is where a row begins. What can be copied asynchronously belongs to the open group.
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
      copy_16_bytes_later(to, values + at);
      continue;
    }
    for (int e = 0; e < kWide; ++e) {
      to[e] = row < rows && column + e < columns ? values[at + e * column_stride] : std::uint16_t{0};
    }
  }
}

/// What a thread of a block holds: names of the PTX manual for its place in a fragment.
template <bool kBf16, int kRowTiles, int kColumns>
struct TensorBlock {
  static constexpr int kKeys = kTensorTileKeys;
  static constexpr int kScoreTiles = kKeys / 8;
  static constexpr int kValueTiles = kColumns / 8;
  static constexpr int kRows = kTensorWarps * 16 * kRowTiles;
  static constexpr DType kDType = kBf16 ? DType::kBf16 : DType::kF16;

  const AttentionArgs& args;
  AttentionBlock block;
  int qk; ///< rounded up to whole steps of 16
  int lane, group, quad, warp_row;
  std::uint16_t* q_tile;
  std::uint16_t* buffers; ///< of keys, then values, one or two
  float mixed[kRowTiles][kValueTiles][4];
  float scores[kRowTiles][kScoreTiles][4];
  float tops[kRowTiles][2]; ///< in powers of two
  float sums[kRowTiles][2];

  __device__ __forceinline__ explicit TensorBlock(const AttentionArgs& given, std::uint16_t* shared)
      : args(given), block(block_of(given)), qk(static_cast<int>((given.qk_dim + 15) / 16 * 16)),
        lane(static_cast<int>(threadIdx.x) % kWarp), group(lane / 4), quad(lane % 4),
        warp_row(static_cast<int>(threadIdx.x) / kWarp * 16 * kRowTiles), q_tile(shared),
        buffers(shared + kRows * (qk + kSkew)), mixed{}, scores{} {
    ATTNPROF_UNROLL
    for (int r = 0; r < kRowTiles; ++r) {
      tops[r][0] = tops[r][1] = -INFINITY;
      sums[r][0] = sums[r][1] = 0.0F;
    }
  }

  __device__ __forceinline__ std::int64_t row(int r, int half) const {
    return block.first_row + warp_row + r * 16 + half * 8 + group;
  }
  __device__ __forceinline__ std::uint16_t* keys_at(int buffer) const {
    return buffers + buffer * kKeys * (qk + kSkew + kColumns + kSkew);
  }
  __device__ __forceinline__ std::uint16_t* values_at(int buffer) const {
    return keys_at(buffer) + kKeys * (qk + kSkew);
  }

  __device__ __forceinline__ void load_queries() {
    load_tile(q_tile, kRows, qk, args.q, block.last_row - block.first_row, args.qk_dim, args.q.strides[4],
              [&](std::int64_t at) { return row_place(args, block, args.q, block.first_row + at); });
  }
  __device__ __forceinline__ void load_keys(int buffer, std::int64_t begin) {
    const std::int64_t keys = args.n_k - begin < kKeys ? args.n_k - begin : kKeys;
    load_tile(keys_at(buffer), kKeys, qk, args.k, keys, args.qk_dim, args.k.strides[4],
              [&](std::int64_t key) { return key_place(block, args.k, begin + key); });
    load_tile(values_at(buffer), kKeys, kColumns, args.v, keys, args.v_dim - block.first_column, args.v.strides[4],
              [&](std::int64_t key) {
                return key_place(block, args.v, begin + key) + block.first_column * args.v.strides[4];
              });
    commit_copies();
  }

  __device__ __forceinline__ void multiply_keys(const std::uint16_t* k_tile) {
    const int line = qk + kSkew;
    const std::uint16_t* q = q_tile + (warp_row + lane % 16) * line + lane / 16 * 8;
    const std::uint16_t* k = k_tile + (lane % 8 + lane / 16 * 8) * line + lane / 8 % 2 * 8;
    ATTNPROF_UNROLL
    for (int r = 0; r < kRowTiles; ++r) {
      ATTNPROF_UNROLL
      for (int tile = 0; tile < kScoreTiles; ++tile) {
        scores[r][tile][0] = scores[r][tile][1] = scores[r][tile][2] = scores[r][tile][3] = 0.0F;
      }
    }
    ATTNPROF_UNROLL_TWICE
    for (int k0 = 0; k0 < qk; k0 += 16) {
      std::uint32_t a[kRowTiles][4];
      ATTNPROF_UNROLL
      for (int r = 0; r < kRowTiles; ++r) {
        load_matrices(a[r], q + r * 16 * line + k0);
      }
      ATTNPROF_UNROLL
      for (int tile = 0; tile < kScoreTiles; tile += 2) {
        std::uint32_t b[4];
        load_matrices(b, k + tile * 8 * line + k0);
        ATTNPROF_UNROLL
        for (int r = 0; r < kRowTiles; ++r) {
          multiply_tile<kBf16>(scores[r][tile], a[r], b[0], b[1]);
          multiply_tile<kBf16>(scores[r][tile + 1], a[r], b[2], b[3]);
        }
      }
    }
  }

  /// Products to arguments of the weight: scaled and biased in powers of two, -inf where masked.
  __device__ __forceinline__ void finish_scores(int r, std::int64_t begin) {
    const float scale = args.squared_relu ? 1.0F : args.scale * kLog2E;
    ATTNPROF_UNROLL
    for (int half = 0; half < 2; ++half) {
      const std::int64_t at = row(r, half);
      const bool real = at < block.last_row;
      const std::int64_t first = (real ? row_first_key(args, at) : 0) - begin;
      const std::int64_t end = (real ? row_end_key(args, at) : 0) - begin;
      const bool whole = first <= 0 && end >= kKeys;
      const int low = first > 0 ? first < kKeys ? static_cast<int>(first) : kKeys : 0;
      const int high = end < kKeys ? end > 0 ? static_cast<int>(end) : 0 : kKeys;
      ATTNPROF_UNROLL
      for (int tile = 0; tile < kScoreTiles; ++tile) {
        ATTNPROF_UNROLL
        for (int e = 0; e < 2; ++e) {
          const int key = tile * 8 + quad * 2 + e;
          const bool kept = whole || (key >= low && key < high);
          scores[r][tile][half * 2 + e] = kept ? scores[r][tile][half * 2 + e] * scale : -INFINITY;
        }
      }
      if (args.bias.address != nullptr) {
        add_bias(r, half, begin, low, high);
      }
    }
  }
  /// To the scores of one row, of keys [low, high) of the tile.
  __device__ __forceinline__ void add_bias(int r, int half, std::int64_t begin, int low, int high) {
    const auto* bias = reinterpret_cast<const std::uint16_t*>(args.bias.address) + begin * args.bias.strides[4];
    bias += row(r, half) < block.last_row ? row_place(args, block, args.bias, row(r, half)) : 0;
    ATTNPROF_UNROLL
    for (int tile = 0; tile < kScoreTiles; ++tile) {
      ATTNPROF_UNROLL
      for (int e = 0; e < 2; ++e) {
        const int key = tile * 8 + quad * 2 + e;
        if (key >= low && key < high) {
          const std::uint16_t bits = bias[key * args.bias.strides[4]];
          scores[r][tile][half * 2 + e] += kLog2E * (kBf16 ? bf16_value(bits) : f16_value(bits));
        }
      }
    }
  }

  /// Scores to weights; what was mixed so far is brought to the new maximum.
  __device__ __forceinline__ void weigh(int r) {
    ATTNPROF_UNROLL
    for (int half = 0; half < 2; ++half) {
      float top = tops[r][half];
      ATTNPROF_UNROLL
      for (int tile = 0; tile < kScoreTiles; ++tile) {
        top = fmaxf(top, fmaxf(scores[r][tile][half * 2], scores[r][tile][half * 2 + 1]));
      }
      top = fold_lanes<Maximum, 4>(top);
      const float shift = top == -INFINITY ? 0.0F : top;
      const float correction = args.squared_relu ? 1.0F : power_of_two(tops[r][half] - shift);
      tops[r][half] = top;
      float sum = sums[r][half] * correction;
      ATTNPROF_UNROLL
      for (int tile = 0; tile < kScoreTiles; ++tile) {
        ATTNPROF_UNROLL
        for (int e = 0; e < 2; ++e) {
          float& score = scores[r][tile][half * 2 + e];
          score = args.squared_relu ? squared_relu_of(score) : power_of_two(score - shift);
          sum += score;
        }
      }
      sums[r][half] = sum;
      ATTNPROF_UNROLL
      for (int tile = 0; tile < kValueTiles; ++tile) {
        mixed[r][tile][half * 2] *= correction;
        mixed[r][tile][half * 2 + 1] *= correction;
      }
    }
  }

  __device__ __forceinline__ void multiply_values(const std::uint16_t* v_tile) {
    constexpr int kLine = kColumns + kSkew;
    const std::uint16_t* v = v_tile + lane % 16 * kLine + lane / 16 * 8;
    ATTNPROF_UNROLL
    for (int k0 = 0; k0 < kKeys; k0 += 16) {
      std::uint32_t a[kRowTiles][4];
      ATTNPROF_UNROLL
      for (int r = 0; r < kRowTiles; ++r) {
        const float(&left)[4] = scores[r][k0 / 8];
        const float(&right)[4] = scores[r][k0 / 8 + 1];
        a[r][0] = packed(kDType, left[0], left[1]);
        a[r][1] = packed(kDType, left[2], left[3]);
        a[r][2] = packed(kDType, right[0], right[1]);
        a[r][3] = packed(kDType, right[2], right[3]);
      }
      ATTNPROF_UNROLL
      for (int tile = 0; tile < kValueTiles; tile += 2) {
        std::uint32_t b[4];
        load_matrices_transposed(b, v + k0 * kLine + tile * 8);
        ATTNPROF_UNROLL
        for (int r = 0; r < kRowTiles; ++r) {
          multiply_tile<kBf16>(mixed[r][tile], a[r], b[0], b[1]);
          multiply_tile<kBf16>(mixed[r][tile + 1], a[r], b[2], b[3]);
        }
      }
    }
  }

  __device__ __forceinline__ void put(int r, int half) {
    const float sum = fold_lanes<Sum, 4>(sums[r][half]);
    const std::int64_t at = row(r, half);
    if (at >= block.last_row) {
      return;
    }
    const bool whole = args.splits == 1;
    const float factor = !whole ? 1.0F : args.squared_relu ? args.scale : 1.0F / (sum == 0.0F ? 1.0F : sum);
    float* partial = whole ? nullptr : partial_of(args, block, at) + 2;
    auto* y = reinterpret_cast<std::uint16_t*>(args.y.address) + row_place(args, block, args.y, at);
    ATTNPROF_UNROLL
    for (int tile = 0; tile < kValueTiles; ++tile) {
      const std::int64_t column = block.first_column + tile * 8 + quad * 2;
      const float low = mixed[r][tile][half * 2] * factor;
      const float high = mixed[r][tile][half * 2 + 1] * factor;
      const bool both = column + 1 < args.v_dim;
      std::uint16_t* to = y + column * args.y.strides[4];
      if (column >= args.v_dim) {
        continue;
      }
      if (partial != nullptr) {
        partial[column] = low;
        if (both) {
          partial[column + 1] = high;
        }
      } else if (both && args.y.strides[4] == 1 && (reinterpret_cast<std::uintptr_t>(to) & 3U) == 0) {
        put_pair_at(to, packed(kDType, low, high));
      } else {
        to[0] = half_bits(kDType, low);
        if (both) {
          to[args.y.strides[4]] = half_bits(kDType, high);
        }
      }
    }
    if (quad == 0) {
      put_state(args, block, at, args.squared_relu ? 0.0F : tops[r][half] / kLog2E, sum);
    }
  }
};

/// 16 * kRowTiles rows a warp, kColumns of v a block.
template <bool kBf16, int kRowTiles, int kColumns>
__global__ void __launch_bounds__(kTensorThreads) tensor_attention_kernel(ATTNPROF_PARAMETER AttentionArgs args) {
  ATTNPROF_SHARED(std::uint16_t, shared);
  TensorBlock<kBf16, kRowTiles, kColumns> own(args, shared);
  own.load_queries();
  const std::int64_t first = own.block.key_begin;
  const std::int64_t tiles = (own.block.key_end - first + kTensorTileKeys - 1) / kTensorTileKeys;
  const int ahead = args.stages - 1; // tiles that are on their way while one is multiplied
  for (std::int64_t loaded = 0; loaded < tiles + ahead; ++loaded) {
    const bool loads = loaded < tiles;
    if (loads) {
      own.load_keys(static_cast<int>(loaded) & ahead, first + loaded * kTensorTileKeys);
    }
    const std::int64_t tile = loaded - ahead;
    if (tile < 0) {
      continue;
    }
    if (loads && ahead == 1) {
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    const int buffer = static_cast<int>(tile) & ahead;
    own.multiply_keys(own.keys_at(buffer));
    ATTNPROF_UNROLL
    for (int r = 0; r < kRowTiles; ++r) {
      own.finish_scores(r, first + tile * kTensorTileKeys);
      own.weigh(r);
    }
    own.multiply_values(own.values_at(buffer));
    __syncthreads(); // nobody reads the buffer that is filled next
  }
  ATTNPROF_UNROLL
  for (int r = 0; r < kRowTiles; ++r) {
    own.put(r, 0);
    own.put(r, 1);
  }
}

template <bool kBf16, int kRowTiles, int kColumns>
void start_tensor_attention(const AttentionArgs& args, Stream stream) {
  const auto kernel = tensor_attention_kernel<kBf16, kRowTiles, kColumns>;
  ATTNPROF_ALLOW_SHARED(kernel, args.shared_bytes);
  ATTNPROF_LAUNCH(kernel, attention_grid(args), dim3(kTensorThreads), static_cast<std::size_t>(args.shared_bytes),
                  stream, args);
}

/// Narrow values have no tall tiles: every instantiation costs half a minute of compiling.
template <bool kBf16, int kColumns>
void start_tiles(const AttentionArgs& args, Stream stream) {
  if constexpr (kColumns > kNarrowValues) {
    if (args.tile_rows == 2 * 16 * kTensorWarps) {
      return start_tensor_attention<kBf16, 2, kColumns>(args, stream);
    }
  }
  start_tensor_attention<kBf16, 1, kColumns>(args, stream);
}

/// kColumns of v a block.
template <int kColumns>
void start_attention_as(const AttentionArgs& args, Stream stream) {
  if (!args.tensor_cores) {
    start_plain_attention<kColumns>(args, stream);
  } else if (args.q.dtype == DType::kBf16) {
    start_tiles<true, kColumns>(args, stream);
  } else {
    start_tiles<false, kColumns>(args, stream);
  }
}

inline void start(const AttentionArgs& args, Stream stream) {
  if (args.v_dim <= kNarrowValues) {
    start_attention_as<kNarrowValues>(args, stream);
  } else if (args.v_dim <= 64) {
    start_attention_as<64>(args, stream);
  } else {
    start_attention_as<kValueColumns>(args, stream);
  }
  start_combination(args, stream);
}

} // namespace attnprof::operators::gpu
