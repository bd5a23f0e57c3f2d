#pragma once
#include "operators/kernels/cuda/attention_block.cuh"

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

constexpr int kLineThreads = 8; ///< that copy one row
constexpr int kStagedRows = 8;  ///< of a warp, whose results are put in lines

/// Copies `rows` rows of `columns` values into shared memory, padded with zeros to `width` columns and all of
/// `tile_rows`; `place(row)` is where a row begins. What can be copied asynchronously belongs to the open group.
template <class Place>
__device__ __forceinline__ void load_tile(std::uint16_t* tile, int tile_rows, int width, const Operand& from, int rows,
                                          int columns, Place place) {
  const auto* values = reinterpret_cast<const std::uint16_t*>(from.address);
  const int first_column = static_cast<int>(threadIdx.x) % kLineThreads * kWide;
  ATTNPROF_UNROLL_NOT
  for (int row = static_cast<int>(threadIdx.x) / kLineThreads; row < tile_rows; row += kTensorThreads / kLineThreads) {
    const std::uint16_t* line = values + (row < rows ? place(row) : 0);
    const bool copies = row < rows && from.strides[4] == 1 && (reinterpret_cast<std::uintptr_t>(line) & 15U) == 0;
    ATTNPROF_UNROLL_TWICE
    for (int column = first_column; column < width; column += kLineThreads * kWide) {
      std::uint16_t* to = tile + row * (width + kSkew) + column;
      if (copies && column + kWide <= columns) {
        copy_16_bytes_later(to, line + column);
        continue;
      }
      ATTNPROF_UNROLL_NOT
      for (int e = 0; e < kWide; ++e) {
        to[e] = row < rows && column + e < columns ? line[(column + e) * from.strides[4]] : std::uint16_t{0};
      }
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
  float factor; ///< of scores in the exponent; 1 where they are scaled before, which bias and negative scales ask for
  std::uint16_t* q_tile;
  std::uint16_t* buffers; ///< of keys, then values, one or two
  float mixed[kRowTiles][kValueTiles][4];
  float scores[kRowTiles][kScoreTiles][4];
  float tops[kRowTiles][2]; ///< in powers of two
  float sums[kRowTiles][2];

  __device__ __forceinline__ explicit TensorBlock(const AttentionArgs& given, std::uint16_t* shared)
      : args(given), block(block_of(given, static_cast<int>(blockIdx.x))),
        qk((static_cast<int>(given.qk_dim) + 15) / 16 * 16), lane(static_cast<int>(threadIdx.x) % kWarp),
        group(lane / 4), quad(lane % 4), warp_row(static_cast<int>(threadIdx.x) / kWarp * 16 * kRowTiles),
        factor(scales_later() ? args.scale * kLog2E : 1.0F), q_tile(shared),
        buffers(shared + kRows * (qk + kSkew)), mixed{}, scores{} {
    ATTNPROF_UNROLL
    for (int r = 0; r < kRowTiles; ++r) {
      tops[r][0] = tops[r][1] = -INFINITY;
      sums[r][0] = sums[r][1] = 0.0F;
    }
  }

  __device__ __forceinline__ bool scales_later() const {
    return !args.squared_relu && args.bias.address == nullptr && args.scale > 0.0F;
  }
  __device__ __forceinline__ int row(int r, int half) const {
    return block.first_row + warp_row + r * 16 + half * 8 + group;
  }
  __device__ __forceinline__ std::uint16_t* keys_at(int buffer) const {
    return buffers + buffer * kKeys * (qk + kSkew + kColumns + kSkew);
  }
  __device__ __forceinline__ std::uint16_t* values_at(int buffer) const {
    return keys_at(buffer) + kKeys * (qk + kSkew);
  }

  /// `block` computed anew: what only rare code and the end need would take registers from the products all the while.
  __device__ __forceinline__ AttentionBlock again() const {
    return block_of(args, unknown_value(static_cast<int>(blockIdx.x)));
  }

  __device__ __forceinline__ void load_queries() {
    load_tile(q_tile, kRows, qk, args.q, block.last_row - block.first_row, static_cast<int>(args.qk_dim),
              [&](int at) { return row_place(args, block, args.q, block.first_row + at); });
  }
  __device__ __forceinline__ void load_keys(int buffer, int begin) {
    const int keys = static_cast<int>(args.n_k) - begin;
    load_tile(keys_at(buffer), kKeys, qk, args.k, keys, static_cast<int>(args.qk_dim),
              [&](int key) { return key_place(block, args.k, begin + key); });
    load_tile(values_at(buffer), kKeys, kColumns, args.v, keys, static_cast<int>(args.v_dim) - block.first_column,
              [&](int key) { return key_place(block, args.v, begin + key) + block.first_column * args.v.strides[4]; });
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

  /// Products to arguments of the weight: -inf where masked; scaled and biased, in powers of two, unless the exponent
  /// scales them.
  __device__ __forceinline__ void finish_scores(int r, int begin) {
    if (!scales_later() && !args.squared_relu) {
      scale_scores(r, args.scale * kLog2E);
    }
    ATTNPROF_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int at = row(r, half);
      const bool real = at < block.last_row;
      const int low = real ? row_first_key(args, at) - begin : 0;
      const int high = real ? row_end_key(args, at) - begin : 0;
      if constexpr (kRowTiles == 1) { // the planner takes no tall tiles where there is a bias: no registers are left
        if (args.bias.address != nullptr) {
          add_bias(r, half, begin, low, high);
        }
      }
      if (low > 0 || high < kKeys) {
        ATTNPROF_UNROLL
        for (int tile = 0; tile < kScoreTiles; ++tile) {
          ATTNPROF_UNROLL
          for (int e = 0; e < 2; ++e) {
            const int key = tile * 8 + quad * 2 + e;
            float& score = scores[r][tile][half * 2 + e];
            score = key >= low && key < high ? score : -INFINITY;
          }
        }
      }
    }
  }
  __device__ __forceinline__ void scale_scores(int r, float by) {
    ATTNPROF_UNROLL
    for (int tile = 0; tile < kScoreTiles; ++tile) {
      ATTNPROF_UNROLL
      for (int e = 0; e < 4; ++e) {
        scores[r][tile][e] *= by;
      }
    }
  }
  /// To the scores of one row, of keys [low, high) of the tile, which are neighbours in memory.
  __device__ __forceinline__ void add_bias(int r, int half, int begin, int low, int high) {
    const auto* bias = reinterpret_cast<const std::uint16_t*>(args.bias.address) + begin + quad * 2;
    bias += row(r, half) < block.last_row ? row_place(args, again(), args.bias, row(r, half)) : 0;
    ATTNPROF_UNROLL
    for (int tile = 0; tile < kScoreTiles; ++tile) {
      ATTNPROF_UNROLL
      for (int e = 0; e < 2; ++e) {
        const int key = tile * 8 + quad * 2 + e;
        if (key >= low && key < high) {
          const std::uint16_t bits = bias[tile * 8 + e];
          scores[r][tile][half * 2 + e] += kLog2E * (kBf16 ? bf16_value(bits) : f16_value(bits));
        }
      }
    }
  }

  /// Scores to weights; what was mixed so far is brought to the new maximum.
  __device__ __forceinline__ void weigh(int r) {
    ATTNPROF_UNROLL
    for (int half = 0; half < 2; ++half) {
      float top = -INFINITY;
      ATTNPROF_UNROLL
      for (int tile = 0; tile < kScoreTiles; ++tile) {
        top = fmaxf(top, fmaxf(scores[r][tile][half * 2], scores[r][tile][half * 2 + 1]));
      }
      top = fmaxf(tops[r][half], fold_lanes<Maximum, 4>(top) * factor);
      const float shift = top == -INFINITY ? 0.0F : top;
      const float correction = args.squared_relu ? 1.0F : power_of_two(tops[r][half] - shift);
      tops[r][half] = top;
      float sum = sums[r][half] * correction;
      ATTNPROF_UNROLL
      for (int tile = 0; tile < kScoreTiles; ++tile) {
        ATTNPROF_UNROLL
        for (int e = 0; e < 2; ++e) {
          float& score = scores[r][tile][half * 2 + e];
          score = args.squared_relu ? squared_relu_of(score) : power_of_two(score * factor - shift);
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
        a[r][0] = packed_halves<kBf16>(left[0], left[1]);
        a[r][1] = packed_halves<kBf16>(left[2], left[3]);
        a[r][2] = packed_halves<kBf16>(right[0], right[1]);
        a[r][3] = packed_halves<kBf16>(right[2], right[3]);
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

  /// Results of one row of each lane group. They go through shared memory, so that memory is written in lines.
  __device__ __forceinline__ void put(int r, int half) {
    constexpr int kLine = kColumns + 8; // the lanes of four rows meet all banks
    static_assert(2 * kTensorWarps * kStagedRows * kLine <= 16 * kTensorWarps * (16 + kSkew) + kKeys * (kLine + 24),
                  "the smallest tiles hold what is staged");
    const float sum = fold_lanes<Sum, 4>(sums[r][half]);
    const float last = args.splits > 1 ? 1.0F : args.squared_relu ? args.scale : 1.0F / (sum == 0.0F ? 1.0F : sum);
    float* staged = reinterpret_cast<float*>(q_tile) + static_cast<int>(threadIdx.x) / kWarp * kStagedRows * kLine;
    __syncwarp(); // the rows before are read
    ATTNPROF_UNROLL
    for (int tile = 0; tile < kValueTiles; ++tile) {
      float* to = staged + group * kLine + tile * 8 + quad * 2;
      to[0] = mixed[r][tile][half * 2] * last;
      to[1] = mixed[r][tile][half * 2 + 1] * last;
    }
    __syncwarp();
    if (quad == 0 && row(r, half) < block.last_row) {
      put_state(args, block, row(r, half), args.squared_relu ? 0.0F : tops[r][half] / kLog2E, sum);
    }
    ATTNPROF_UNROLL_NOT
    for (int i = lane; i < kStagedRows * kValueTiles; i += kWarp) {
      const int staged_row = i / kValueTiles;
      const int column = i % kValueTiles * 8;
      const int at = row(r, half) - group + staged_row;
      if (at < block.last_row) {
        put_line(at, block.first_column + column, staged + staged_row * kLine + column);
      }
    }
  }
  /// Eight neighbouring columns of a row.
  __device__ __forceinline__ void put_line(int at, int column, const float* from) {
    alignas(16) float values[kWide];
    copy_16_bytes(values, from);
    copy_16_bytes(values + 4, from + 4);
    const int count = static_cast<int>(args.v_dim) - column;
    if (args.splits > 1) {
      float* to = partial_of(args, block, at) + 2 + column;
      ATTNPROF_UNROLL
      for (int e = 0; e < kWide; ++e) {
        if (e < count) {
          to[e] = values[e];
        }
      }
      return;
    }
    std::uint32_t pairs[kWide / 2];
    ATTNPROF_UNROLL
    for (int e = 0; e < kWide; e += 2) {
      pairs[e / 2] = packed_halves<kBf16>(values[e], values[e + 1]);
    }
    auto* to = reinterpret_cast<std::uint16_t*>(args.y.address) + row_place(args, block, args.y, at) +
               column * args.y.strides[4];
    if (count >= kWide && args.y.strides[4] == 1 && (reinterpret_cast<std::uintptr_t>(to) & 15U) == 0) {
      put_16_bytes(to, pairs[0], pairs[1], pairs[2], pairs[3]);
      return;
    }
    ATTNPROF_UNROLL
    for (int e = 0; e < kWide; ++e) {
      if (e < count) {
        to[e * args.y.strides[4]] = static_cast<std::uint16_t>(pairs[e / 2] >> (16U * static_cast<unsigned>(e % 2)));
      }
    }
  }
};

/// 16 * kRowTiles rows a warp, kColumns of v a block.
template <bool kBf16, int kRowTiles, int kColumns>
__global__ void __launch_bounds__(kTensorThreads) tensor_attention_kernel(ATTNPROF_PARAMETER AttentionArgs args) {
  ATTNPROF_SHARED(std::uint16_t, shared);
  TensorBlock<kBf16, kRowTiles, kColumns> own(args, shared);
  own.load_queries();
  const int first = own.block.key_begin;
  const int tiles = (own.block.key_end - first + kTensorTileKeys - 1) / kTensorTileKeys;
  const int ahead = args.stages - 1; // tiles that are on their way while one is multiplied
  for (int loaded = 0; loaded < tiles + ahead; ++loaded) {
    const bool loads = loaded < tiles;
    if (loads) {
      own.load_keys(loaded & ahead, first + loaded * kTensorTileKeys);
    }
    const int tile = loaded - ahead;
    if (tile < 0) {
      continue;
    }
    if (loads && ahead == 1) {
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    const int buffer = tile & ahead;
    own.multiply_keys(own.keys_at(buffer));
    ATTNPROF_UNROLL
    for (int r = 0; r < kRowTiles; ++r) {
      own.finish_scores(r, first + tile * kTensorTileKeys);
      own.weigh(r);
    }
    own.multiply_values(own.values_at(buffer));
    __syncthreads(); // nobody reads the buffer that is filled next
  }
  own.block = own.again();
  if (tiles == 0) { // the queries may still be on their way to where results are staged
    commit_copies();
    wait_for_copies<0>();
    __syncthreads();
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

/// Narrow values have no tall tiles: each instantiation costs seconds of compiling for each architecture.
template <bool kBf16, int kColumns>
void start_tiles(const AttentionArgs& args, Stream stream) {
  if constexpr (kColumns > kNarrowValues) {
    if (args.tile_rows == 2 * 16 * kTensorWarps) {
      return start_tensor_attention<kBf16, 2, kColumns>(args, stream);
    }
  }
  start_tensor_attention<kBf16, 1, kColumns>(args, stream);
}

} // namespace attnprof::operators::gpu
