#pragma once
#include "operators/kernels/cuda/warp.cuh"

// What the attention kernels share: which rows and keys a block takes, and where its parts go. Split of the keys for
// decoding: Dao et al. 2023, flash-decoding.
namespace attnprof::operators::gpu {

constexpr int kValueColumns = 128; ///< of v that a block holds; wider values take several blocks

/// What one block computes: a tile of rows of one (batch, key head, member), some columns of v, some of the keys.
/// Rows and keys have 32 bits, as the planner makes sure of; products with strides have 64.
struct AttentionBlock {
  int batch, head, member;
  int rows, first_row, last_row; ///< of this (batch, head, member): all, and the tile's [first, last)
  int first_column;
  int key_begin, key_end; ///< whole tiles, the last one ragged at n_k
  int split;
};

__device__ __forceinline__ int query_of(const AttentionArgs& args, int row) {
  return args.flat_group ? row % static_cast<int>(args.n_q) : row;
}
__device__ __forceinline__ int member_of(const AttentionArgs& args, const AttentionBlock& block, int row) {
  return args.flat_group ? row / static_cast<int>(args.n_q) : block.member;
}
__device__ __forceinline__ std::int64_t row_place(const AttentionArgs& args, const AttentionBlock& block,
                                                  const Operand& operand, int row) {
  return block.batch * operand.strides[0] + block.head * operand.strides[1] +
         member_of(args, block, row) * operand.strides[2] + query_of(args, row) * operand.strides[3];
}
__device__ __forceinline__ std::int64_t key_place(const AttentionBlock& block, const Operand& operand, int key) {
  return block.batch * operand.strides[0] + block.head * operand.strides[1] + key * operand.strides[3];
}
__device__ __forceinline__ int row_first_key(const AttentionArgs& args, int row) {
  return args.masked ? first_key<int>(static_cast<int>(args.window), query_of(args, row), static_cast<int>(args.n_q),
                                      static_cast<int>(args.n_k))
                     : 0;
}
__device__ __forceinline__ int row_end_key(const AttentionArgs& args, int row) {
  const int keys = static_cast<int>(args.n_k);
  return args.masked ? end_key<int>(query_of(args, row), static_cast<int>(args.n_q), keys) : keys;
}

__host__ __device__ __forceinline__ std::int64_t rows_of(const AttentionArgs& args) {
  return args.flat_group ? args.group * args.n_q : args.n_q;
}
__host__ __device__ __forceinline__ std::int64_t members_of(const AttentionArgs& args) {
  return args.flat_group ? 1 : args.group;
}
inline dim3 attention_grid(const AttentionArgs& args) {
  // y has 16 bits, which columns times splits never fill.
  const std::int64_t tiles = ceil_div(rows_of(args), args.tile_rows);
  return dim3(static_cast<unsigned>(tiles * args.batch * args.kv_heads * members_of(args)),
              static_cast<unsigned>(ceil_div(args.v_dim, kValueColumns)), static_cast<unsigned>(args.splits));
}

/// `matrix`: which of the (batch, key head, member).
__device__ __forceinline__ void set_matrix(AttentionBlock& block, const AttentionArgs& args, int matrix) {
  const int members = static_cast<int>(members_of(args));
  block.rows = static_cast<int>(rows_of(args));
  block.member = matrix % members;
  block.head = matrix / members % static_cast<int>(args.kv_heads);
  block.batch = matrix / members / static_cast<int>(args.kv_heads);
}

/// `flat`: blockIdx.x.
__device__ inline AttentionBlock block_of(const AttentionArgs& args, int flat) {
  AttentionBlock block;
  const int tile_rows = static_cast<int>(args.tile_rows);
  const int tile_keys = static_cast<int>(args.tile_keys);
  const int tiles = static_cast<int>(ceil_div(rows_of(args), args.tile_rows));
  set_matrix(block, args, flat / tiles);
  block.first_row = flat % tiles * tile_rows;
  block.last_row = block.first_row + tile_rows < block.rows ? block.first_row + tile_rows : block.rows;
  block.first_column = static_cast<int>(blockIdx.y) * kValueColumns;
  block.split = static_cast<int>(blockIdx.z);
  // A tile that crosses the end of a group member holds its last query and the first of the next: any key may be
  // visited.
  const int queries = static_cast<int>(args.n_q);
  const bool crosses = args.flat_group && block.first_row / queries != (block.last_row - 1) / queries;
  int begin = row_first_key(args, crosses ? 0 : block.first_row);
  int end = row_end_key(args, crosses ? queries - 1 : block.last_row - 1);
  begin = begin / tile_keys * tile_keys;
  if (args.splits > 1) {
    const int share = static_cast<int>(ceil_div(ceil_div(args.n_k, args.splits), args.tile_keys) * args.tile_keys);
    const int from = block.split * share;
    begin = begin > from ? begin : from;
    end = end < from + share ? end : from + share;
  }
  block.key_begin = begin;
  block.key_end = end > begin ? end : begin;
  return block;
}

/// Where the partial result of a row lies: maximum, sum, then v_dim values.
__device__ __forceinline__ float* partial_of(const AttentionArgs& args, const AttentionBlock& block, int row) {
  const std::int64_t matrix = (block.batch * args.kv_heads + block.head) * members_of(args) + block.member;
  return args.partial + ((matrix * args.splits + block.split) * block.rows + row) * (args.v_dim + 2);
}

/// Stores what a part of the keys leaves of a row, for their combination.
__device__ __forceinline__ void put_state(const AttentionArgs& args, const AttentionBlock& block, int row, float top,
                                          float sum) {
  if (args.splits > 1 && block.first_column == 0) {
    float* partial = partial_of(args, block, row);
    partial[0] = top;
    partial[1] = sum;
  }
}
__device__ __forceinline__ float squared_relu_of(float score) {
  const float positive = fmaxf(score, 0.0F); // of -inf: zero
  return positive * positive;
}

} // namespace attnprof::operators::gpu
