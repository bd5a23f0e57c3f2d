#pragma once
#include "operators/core/dtype.hpp"
#include "operators/core/functions.hpp"
#include "operators/core/rounding.hpp"

#include <cstddef>
#include <variant>

// What the planner (kernels/gpu) hands to the kernels (kernels/cuda): plain values and device addresses, passed to a
// kernel by value. The same structures drive the kernels on a GPU and in the emulation of the tests.
namespace attnprof::operators::gpu {

inline constexpr int kMaxRank = 8;
/// Steps of one chain; a launch with more is refused by the planner.
inline constexpr int kMaxSteps = 12;
/// Elements that a thread moves at once where rows are dense and aligned: 16 bytes of a 16-bit type.
inline constexpr int kWide = 8;
/// Width of values up to which the attention's blocks are narrow.
inline constexpr int kNarrowValues = 32;

/// The index space of a launch: neighbouring dimensions that every operand can merge are one.
struct Space {
  int rank = 0;
  std::int64_t dims[kMaxRank] = {};
  std::int64_t count = 1; ///< product of dims
};

/// An operand: address of its first element, and a stride in elements for each dimension of the space.
struct Operand {
  std::byte* address = nullptr;
  DType dtype = DType::kF32;
  std::int64_t strides[kMaxRank] = {};
};

/// A Step with addresses. Its operand's strides follow the space of the launch.
struct StepArgs {
  StepFn fn = StepFn::kScale;
  float value = 0.0F;
  Operand operand;
  std::int64_t window = 0; ///< of mask steps: keys kept, 0 all up to the diagonal
  bool masked = false;     ///< a mask step that drops anything
};

/// `queries` and `keys`: the last two sizes of what the steps apply to.
struct StepList {
  int count = 0;
  std::int64_t queries = 1;
  std::int64_t keys = 1;
  StepArgs steps[kMaxSteps];
};

/// y = steps(x) over a space; a copy has no steps.
struct ElementwiseArgs {
  Space space;
  Operand x, y;
  StepList steps;
  bool wide = false; ///< kWide neighbours of the last dimension at once
};

/// y = x where x is dense along `rows` and y along `columns`: through shared memory, so that both are read in lines.
struct TransposeArgs {
  Space outer;
  std::int64_t rows = 0, columns = 0;
  Operand x, y; ///< strides of outer
  std::int64_t x_column = 0, y_row = 0;
};

/// Softmax, LayerNorm and RMSNorm of rows.
struct RowsArgs {
  enum class Kind { kSoftmax, kLayerNorm, kRmsNorm };
  Kind kind = Kind::kSoftmax;
  Space outer;
  std::int64_t columns = 0;
  Operand x, y; ///< strides of outer
  std::int64_t x_column = 1, y_column = 1;
  Operand gamma, beta; ///< strides[0]: of columns
  float eps = 0.0F;
  bool wide = false;
};

/// Space: outer dimensions, tokens, half of the width; x, y, table reach their second half with `..._half`.
struct RopeArgs {
  Space space;
  Operand x, y, table;
  std::int64_t x_half = 0, y_half = 0, table_half = 0;
  bool wide = false;
};

/// Space: that of y; x has a stride of 0 along the gathered dimension and adds index * x_row.
struct GatherArgs {
  Space space;
  int row_dim = 0;
  Operand x, y, index; ///< index.strides[0]: between indices
  std::int64_t x_row = 0;
  bool wide = false;
};

/// Outer: y without its last dimension, which has `columns`.
struct ReduceArgs {
  ReduceKind kind = ReduceKind::kSum;
  Space outer;
  std::int64_t rows = 0, columns = 0;
  Operand x, y;
  std::int64_t x_row = 0, x_column = 0, y_column = 0;
};

/// Space: x without its group dimension.
struct CumSumArgs {
  Space space;
  std::int64_t groups = 0;
  Operand x, y;
  std::int64_t x_group = 0, y_group = 0;
};

/// Space: [batch, channels] of y.
struct ChannelConvArgs {
  Space space;
  std::int64_t taps = 0;
  Operand x, y, w; ///< w.strides[0]: of taps
};

/// Depthwise and dense convolutions and pooling on maps [batch, height, width, channels]; space: that of y.
struct ConvArgs {
  enum class Kind { kDepthwise, kDense, kPool };
  Kind kind = Kind::kDepthwise;
  Space space; ///< rank 4
  std::int64_t height = 0, width = 0;
  std::int64_t kernel_h = 1, kernel_w = 1, stride = 1, pad = 0;
  std::int64_t groups = 1, group_channels = 1; ///< of kDense: input channels of a group
  Operand x, w, y;                             ///< x, y: map strides; w: [channels | out, kernel_h, kernel_w (, in)]
  StepList steps;
};

/// c = steps(a b). Batch dimensions first; a: [batch..., m, k], b: [batch..., k, n], c: [batch..., m, n].
struct ProductArgs {
  Space batch;
  std::int64_t m = 0, n = 0, k = 0;
  Operand a, b, c;
  std::int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0, c_row = 0, c_column = 0;
  StepList steps;    ///< operands: strides of batch, then row, then column
  bool tf32 = false; ///< factors are f32 and rounded to 11 significant bits
  std::byte* workspace = nullptr;
  std::int64_t workspace_bytes = 0;
};

/// Rows, and keys, of one head group at most: the fused kernels count them in 32 bits.
inline constexpr std::int64_t kMostAttentionRows = std::int64_t{1} << 30;

/// The fused core. Rows of one (batch, key head) are its queries, of one group member or of the whole group.
struct AttentionArgs {
  std::int64_t batch = 0, kv_heads = 0, group = 0, n_q = 0, n_k = 0, qk_dim = 0, v_dim = 0;
  Operand q, k, v, y, bias; ///< strides: batch, kv_head, group (0 for k, v), row, column
  float scale = 1.0F;
  bool masked = false;
  std::int64_t window = 0;
  bool squared_relu = false;
  bool flat_group = false; ///< rows run over group and queries, so that a group shares what it reads of its keys
  bool tensor_cores = false;
  std::int64_t tile_rows = 0, tile_keys = 0;
  int stages = 1;                ///< tiles of keys and values in shared memory: one is multiplied while another arrives
  std::int64_t shared_bytes = 0; ///< of a block
  std::int64_t splits = 1;       ///< of the keys; above 1 partial results go to `partial` and are combined
  /// [batch * kv_heads * members][splits][rows][v_dim + 2] in f32: maximum, sum, values.
  float* partial = nullptr;
  std::byte* workspace = nullptr; ///< of a library that takes the launch; the same memory as `partial`
  std::int64_t workspace_bytes = 0;
};

using LaunchArgs = std::variant<ElementwiseArgs, TransposeArgs, RowsArgs, RopeArgs, GatherArgs, ReduceArgs, CumSumArgs,
                                ChannelConvArgs, ConvArgs, ProductArgs, AttentionArgs>;

} // namespace attnprof::operators::gpu
