#pragma once
#include "operators/kernels/cuda/attention_block.cuh"

// The fused attention core with plain multiply-adds in f32, and the combination of partial results. Online softmax: Dao
// et al. 2022, algorithm 1.
namespace attnprof::operators::gpu {

constexpr int kPlainThreads = 128;
constexpr int kPlainTileRows = 16;

/// Stores a row's result, or its part where the keys are split.
__device__ __forceinline__ void put_value(const AttentionArgs& args, const AttentionBlock& block, int row, int column,
                                          float value, float sum) {
  if (args.splits > 1) {
    partial_of(args, block, row)[2 + column] = value;
    return;
  }
  const float factor = args.squared_relu ? args.scale : 1.0F / (sum == 0.0F ? 1.0F : sum);
  store(args.y, row_place(args, block, args.y, row) + column * args.y.strides[4], value * factor);
}
/// The weight's argument: scaled and biased score, or -inf where the mask drops it.
__device__ __forceinline__ float masked_score(const AttentionArgs& args, const AttentionBlock& block, int row, int key,
                                              float dot) {
  if (row >= block.last_row || key >= args.n_k || key < row_first_key(args, row) || key >= row_end_key(args, row)) {
    return -INFINITY;
  }
  if (args.squared_relu) {
    return dot;
  }
  dot *= args.scale;
  if (args.bias.address != nullptr) {
    dot += load(args.bias, row_place(args, block, args.bias, row) + key * args.bias.strides[4]);
  }
  return dot;
}
/// kColumns of v a block; thread t owns column t % kColumns of every (kPlainThreads / kColumns)-th row.
template <int kColumns>
__global__ void __launch_bounds__(kPlainThreads) attention_kernel(ATTNPROF_PARAMETER AttentionArgs args) {
  constexpr int kRowStep = kPlainThreads / kColumns;
  constexpr int kRowsEach = kPlainTileRows / kRowStep;
  ATTNPROF_SHARED(float, shared);
  const AttentionBlock block = block_of(args, static_cast<int>(blockIdx.x));
  const int thread = static_cast<int>(threadIdx.x);
  const int qk = static_cast<int>(args.qk_dim);
  const int keys = static_cast<int>(args.tile_keys);
  float* q_tile = shared;                             // [rows][qk]
  float* k_tile = q_tile + kPlainTileRows * qk;       // [keys][qk + 1]
  float* v_tile = k_tile + keys * (qk + 1);           // [keys][kColumns]
  float* scores = v_tile + keys * kColumns;           // [rows][keys + 1]
  float* tops = scores + kPlainTileRows * (keys + 1); // maximum, sum and correction of each row
  float* sums = tops + kPlainTileRows;
  float* corrections = sums + kPlainTileRows;
  for (int i = thread; i < kPlainTileRows * qk; i += kPlainThreads) {
    const int row = block.first_row + i / qk;
    q_tile[i] =
        row < block.last_row ? load(args.q, row_place(args, block, args.q, row) + i % qk * args.q.strides[4]) : 0.0F;
  }
  if (thread < kPlainTileRows) {
    tops[thread] = -INFINITY;
    sums[thread] = 0.0F;
  }
  const int my_column = thread % kColumns;
  const int my_row = thread / kColumns;
  float mixed[kRowsEach] = {};
  for (int begin = block.key_begin; begin < block.key_end; begin += keys) {
    __syncthreads();
    for (int i = thread; i < keys * qk; i += kPlainThreads) {
      const int key = begin + i / qk;
      k_tile[i / qk * (qk + 1) + i % qk] =
          key < args.n_k ? load(args.k, key_place(block, args.k, key) + i % qk * args.k.strides[4]) : 0.0F;
    }
    for (int i = thread; i < keys * kColumns; i += kPlainThreads) {
      const int key = begin + i / kColumns;
      const int column = block.first_column + i % kColumns;
      const bool inside = key < args.n_k && column < args.v_dim;
      v_tile[i] = inside ? load(args.v, key_place(block, args.v, key) + column * args.v.strides[4]) : 0.0F;
    }
    __syncthreads();
    // Scores: a thread takes two rows and every 16th key of them.
    const int pair = thread / 16 * 2;
    for (int key = thread % 16; key < keys; key += 16) {
      float first = 0.0F;
      float second = 0.0F;
      for (int d = 0; d < qk; ++d) {
        const float k = k_tile[key * (qk + 1) + d];
        first += q_tile[pair * qk + d] * k;
        second += q_tile[(pair + 1) * qk + d] * k;
      }
      scores[pair * (keys + 1) + key] = masked_score(args, block, block.first_row + pair, begin + key, first);
      scores[(pair + 1) * (keys + 1) + key] =
          masked_score(args, block, block.first_row + pair + 1, begin + key, second);
    }
    __syncthreads();
    // Weights: eight lanes a row.
    const int row = thread / 8;
    float top = -INFINITY;
    for (int key = thread % 8; key < keys; key += 8) {
      top = fmaxf(top, scores[row * (keys + 1) + key]);
    }
    top = fmaxf(fold_lanes<Maximum, 8>(top), tops[row]);
    const float shift = top == -INFINITY ? 0.0F : top;
    float sum = 0.0F;
    for (int key = thread % 8; key < keys; key += 8) {
      const float score = scores[row * (keys + 1) + key];
      const float weight = args.squared_relu ? squared_relu_of(score) : expf(score - shift);
      scores[row * (keys + 1) + key] = weight;
      sum += weight;
    }
    sum = fold_lanes<Sum, 8>(sum);
    if (thread % 8 == 0) {
      const float correction = args.squared_relu ? 1.0F : expf(tops[row] - shift);
      corrections[row] = correction;
      sums[row] = sums[row] * correction + sum;
      tops[row] = top;
    }
    __syncthreads();
    ATTNPROF_UNROLL
    for (int r = 0; r < kRowsEach; ++r) {
      const int at = my_row + r * kRowStep;
      float total = mixed[r] * corrections[at];
      for (int key = 0; key < keys; ++key) {
        total += scores[at * (keys + 1) + key] * v_tile[key * kColumns + my_column];
      }
      mixed[r] = total;
    }
  }
  __syncthreads();
  ATTNPROF_UNROLL
  for (int r = 0; r < kRowsEach; ++r) {
    const int at = my_row + r * kRowStep;
    const int row = block.first_row + at;
    const int column = block.first_column + my_column;
    if (row < block.last_row && column < args.v_dim) {
      put_value(args, block, row, column, mixed[r], sums[at]);
    }
  }
  if (thread < kPlainTileRows && block.first_row + thread < block.last_row) {
    put_state(args, block, block.first_row + thread, tops[thread], sums[thread]);
  }
}

constexpr int kCombineBlock = 128;

/// One row a block: the parts of a row, weighed by their maxima, or plain sums of squared-relu parts.
template <int kThreads>
__global__ void __launch_bounds__(kThreads) combine_kernel(ATTNPROF_PARAMETER AttentionArgs args) {
  AttentionBlock block{};
  const int rows = static_cast<int>(rows_of(args));
  const int row = static_cast<int>(blockIdx.x) % rows;
  set_matrix(block, args, static_cast<int>(blockIdx.x) / rows);
  float top = -INFINITY;
  for (block.split = 0; block.split < args.splits; ++block.split) {
    top = fmaxf(top, partial_of(args, block, row)[0]);
  }
  const float shift = top == -INFINITY ? 0.0F : top;
  float sum = 0.0F;
  for (block.split = 0; block.split < args.splits; ++block.split) {
    const float* partial = partial_of(args, block, row);
    sum += partial[1] * (args.squared_relu ? 1.0F : expf(partial[0] - shift));
  }
  const float factor = args.squared_relu ? args.scale : 1.0F / (sum == 0.0F ? 1.0F : sum);
  for (std::int64_t column = threadIdx.x; column < args.v_dim; column += kThreads) {
    float value = 0.0F;
    for (block.split = 0; block.split < args.splits; ++block.split) {
      const float* partial = partial_of(args, block, row);
      value += partial[2 + column] * (args.squared_relu ? 1.0F : expf(partial[0] - shift));
    }
    store(args.y, row_place(args, block, args.y, row) + column * args.y.strides[4], value * factor);
  }
}

inline void start_combination(const AttentionArgs& args, Stream stream) {
  if (args.splits > 1) {
    const auto kernel = combine_kernel<kCombineBlock>;
    const std::int64_t blocks = rows_of(args) * args.batch * args.kv_heads * members_of(args);
    ATTNPROF_LAUNCH_FLAT(kernel, dim3(static_cast<unsigned>(blocks)), dim3(kCombineBlock), stream, args);
  }
}

template <int kColumns>
void start_plain_attention(const AttentionArgs& args, Stream stream) {
  const auto kernel = attention_kernel<kColumns>;
  ATTNPROF_ALLOW_SHARED(kernel, args.shared_bytes);
  ATTNPROF_LAUNCH(kernel, attention_grid(args), dim3(kPlainThreads), static_cast<std::size_t>(args.shared_bytes),
                  stream, args);
}

} // namespace attnprof::operators::gpu
