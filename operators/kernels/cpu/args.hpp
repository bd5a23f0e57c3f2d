#pragma once
#include "operators/core/op.hpp"

// What the planners (kernels/cpu/*.cpp) hand to the kernels (kernels/cpu/isa/*.cpp, compiled once per instruction set):
// plain values and pointers only. A kernel source must not use inline functions of other headers, because the linker
// keeps one copy of them and that copy could be the one compiled for a wider instruction set than the processor has.
namespace attnprof::operators::cpu {

inline constexpr int kMaxRank = 8;

/// Outer loops around a kernel, collapsed jointly over its operands.
struct Nest {
  int rank = 0;
  std::int64_t dims[kMaxRank] = {};
  std::int64_t count = 1; ///< product of dims
};

/// One operand: address of its first element; strides in elements for the nest, then rows, then columns.
struct Operand {
  std::byte* address = nullptr;
  std::int64_t outer[kMaxRank] = {};
  std::int64_t row = 0;
  std::int64_t column = 0;
  bool bf16 = false; ///< else f32
};

/// Columns [begin, end) that a row attends to.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// A Step with addresses; a row's mask range is ranges[row % queries].
struct StepArgs {
  StepFn fn = StepFn::kScale;
  float value = 0.0F;
  Operand operand; ///< of kAdd and kMul
  const RowRange* ranges = nullptr;
  std::int64_t queries = 1;
};

struct StepList {
  const StepArgs* steps = nullptr;
  int count = 0;
};

/// Row kernels: nest x rows x columns. `scratch` holds one row of f32 per share where an operand is not plain f32.
struct RowsArgs {
  Nest nest;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Operand x, y;
  Operand gamma, beta; ///< of the norms; beta.address null: RMSNorm. gamma: taps of the convolution along channels
  Operand table;       ///< of the rotary embedding; indices of a gather
  float eps = 0.0F;
  float factor = 1.0F;   ///< of a sum: 1, or 1 / rows
  bool take_max = false; ///< a reduction keeps the maximum in place of the sum
  std::int64_t taps = 0; ///< of the convolution along channels
  StepList steps;
  std::byte* scratch = nullptr;
  std::int64_t scratch_stride = 0; ///< bytes between shares
  bool stream = false;             ///< output larger than the last-level cache: bypass it
  /// Softmax: rows that together fill whole cache lines and go past the caches together; 0 where each row does.
  std::int64_t stage_rows = 0;
};

/// c = steps(a b), batch by batch. b is read in place, or from panels: [columns / tile_columns][k][tile_columns], zero
/// padded.
struct MatMulArgs {
  Nest nest;
  std::int64_t m = 0, n = 0, k = 0;
  Operand a, b, c; ///< rows and columns of a: m, k; of b: k, n; of c: m, n
  bool b_panels = false;
  bool b_blocks = false; ///< b is stored as Storage::Kind::kBlocks; only oneDNN reads it
  StepList steps;
  int row_shares = 1, column_shares = 1; ///< their product is the number of shares
  std::int64_t block_rows = 0;           ///< rows of a and c that stay in the second-level cache
  std::int64_t block_columns = 0;        ///< columns of b handled at a time
  std::int64_t block_k = 0;
  bool a_copied = false; ///< a is packed into register tiles block by block
  std::byte* scratch = nullptr;
  std::int64_t scratch_stride = 0; ///< bytes between shares
  /// Where a share keeps, from the start of its scratch in bytes: rows of a, panels of b, a panel widened to f32, rows
  /// of c.
  std::int64_t a_at = 0, b_at = 0, panel_at = 0, c_at = 0;
};

/// Keys or values that decoding copies at a time where they cannot be read in place.
inline constexpr std::int64_t kCopiedKeys = 32;
/// Floats from one row of scores or queries to the next: rows a power of two apart would compete for one cache bank.
constexpr std::int64_t staggered(std::int64_t width, std::int64_t lanes) {
  return (width + lanes - 1) / lanes * lanes + lanes;
}

/// Floats that keep the state of query rows (isa/attention_tile.hpp): a maximum, a correction, and a sum for each lane.
constexpr std::int64_t row_state_floats(std::int64_t rows, std::int64_t lanes) {
  return 2 * ((rows + lanes - 1) / lanes * lanes) + rows * lanes;
}

/// The fused core. Tiles of queries are flattened over batch, kv_head, group member and tile; nest is batch, kv_head,
/// group.
struct AttentionArgs {
  Nest nest;
  std::int64_t group = 0, n_q = 0, n_k = 0, qk_dim = 0, v_dim = 0;
  Operand q, k, v, y, bias; ///< row: query (q, y, bias) or key (k, v); column: width or key (bias)
  float scale = 1.0F;
  bool squared_relu = false; ///< weights relu(q k)^2 * scale instead of the softmax's; no bias then
  std::int64_t tile_queries = 0, tile_keys = 0;
  const RowRange* row_keys = nullptr;        ///< [n_q] keys each query attends to
  const RowRange* tile_ranges = nullptr;     ///< [tiles of queries] keys each tile visits
  const std::int64_t* share_begin = nullptr; ///< [shares + 1] first flat tile of each share
  RowRange visited;                          ///< decode: keys that any query visits
  std::byte* scratch = nullptr;
  std::int64_t scratch_stride = 0; ///< bytes between shares
  /// Where a share keeps, from the start of its scratch in bytes: rows of q, keys, values, scores, sums, row state;
  /// decode: partial results.
  std::int64_t q_at = 0, k_at = 0, v_at = 0, scores_at = 0, sums_at = 0, state_at = 0, partial_at = 0;
};

struct DepthwiseArgs {
  std::int64_t batch = 0, height = 0, width = 0, out_height = 0, out_width = 0, channels = 0, kernel_h = 0,
               kernel_w = 0;
  std::int64_t stride = 1, pad = 0;
  std::int64_t x_stride[4] = {}, y_stride[4] = {}; ///< batch, row, column, channel
  std::byte* x = nullptr;
  std::byte* y = nullptr;
  bool x_bf16 = false, y_bf16 = false;
  const std::byte* taps = nullptr; ///< [kernel_h * kernel_w][channels]
  bool taps_bf16 = false;
  bool in_place = false; ///< the maps fit the caches: rows may be read by channels, pixel after pixel
  bool stream = false;   ///< the maps lie in DRAM: input rows are fetched ahead, output goes past the caches
  StepList steps;        ///< operands: outer = batch, output row; row = output column; column = channel
  std::byte* scratch = nullptr;
  std::int64_t scratch_stride = 0;
};

/// Convolutions and pooling over a map, channels last; pooling has no weights.
struct ConvArgs {
  std::int64_t batch = 0, height = 0, width = 0, out_height = 0, out_width = 0, out_channels = 0;
  std::int64_t kernel_h = 0, kernel_w = 0, stride = 1, pad = 0;
  std::int64_t groups = 1, group_channels = 0;     ///< input channels of a group
  std::int64_t x_stride[4] = {}, y_stride[4] = {}; ///< batch, row, column, channel
  Operand x, w, y;                                 ///< w: [out_channels][kernel_h * kernel_w][group_channels], dense
  StepList steps; ///< operands: outer = batch, output row; row = output column; column = channel
  std::byte* scratch = nullptr;
  std::int64_t scratch_stride = 0; ///< bytes between shares
  std::int64_t out_at = 0;         ///< where a share keeps its rows of y, from the start of its scratch in bytes
};

} // namespace attnprof::operators::cpu
