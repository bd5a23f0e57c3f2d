#pragma once
#include "operators/core/dtype.hpp"
#include "operators/core/functions.hpp"
#include "operators/core/mask.hpp"
#include "operators/core/view.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// The primitives. A workload is a list of them (R1), and one op is one launch. Each has, and cannot compile without,
// `work_of` (core/work.cpp), `io_of` (core/io.cpp), a reference loop (kernels/reference) and a CPU kernel
// (kernels/cpu).
namespace attnprof::operators {

struct StepTraits {
  std::string_view name;
  std::int64_t flops;           ///< vector FLOPs per element
  std::int64_t transcendentals; ///< of which transcendental
  bool takes_operand;
};
/// The one table of element-wise costs: add, sub, mul, div, max, compare and each transcendental are 1 FLOP.
const StepTraits& step_traits(StepFn fn);

/// Steps that look at the position of an element.
constexpr bool is_mask(StepFn fn) {
  return fn == StepFn::kMaskFill || fn == StepFn::kMaskZero;
}

/// One element-wise step on a value x; `operand` has the shape of the op's output (broadcast by stride 0).
struct Step {
  StepFn fn = StepFn::kScale;
  double value = 0.0;
  std::optional<View> operand;
  Mask mask;
  friend bool operator==(const Step&, const Step&) = default;
};
using Steps = std::vector<Step>;

/// c[..., m, n] = steps(sum over k of a[..., m, k] * b[..., k, n]); batch dimensions are equal (broadcast by stride 0).
struct MatMul {
  static constexpr std::string_view kName = "matmul";
  /// Which axes of the product the mask, or useful_entries, speaks about: scores are (m, n), the value mix is (m, k),
  /// sums over tokens are (k).
  enum class MaskAxes { kNone, kRowsColumns, kRowsInner, kRows, kInner };
  View a, b, c;
  Mask mask;
  MaskAxes mask_axes = MaskAxes::kNone;
  /// Entries of those axes, over the whole batch, that hold real tokens; where padding makes them fewer than the mask
  /// says.
  std::optional<std::int64_t> useful_entries;
  Steps epilogue;
};

/// Softmax over the last dimension.
struct Softmax {
  static constexpr std::string_view kName = "softmax";
  View x, y;
};

/// The fused attention core, tile by tile; nothing of size n_q * n_k is stored. With softmax weights
/// y = softmax(scale * q k^T + bias, masked) v with a running maximum and sum (online softmax, Milakov and Gimelshein
/// 2018; Dao et al. 2022, algorithm 1). With squared-relu weights y = scale * (relu(q k^T)^2, masked to zero) v (Hua et
/// al. 2022, eq. 4): tiles only add up.
/// q, y: [batch, kv_heads, group, n_q, qk_dim | v_dim]; k, v: [batch, kv_heads, n_k, qk_dim | v_dim];
/// bias: [batch, kv_heads, group, n_q, n_k]. Key tiles that the mask empties are skipped.
struct Attention {
  static constexpr std::string_view kName = "attention";
  enum class Weights { kSoftmax, kSquaredRelu };
  View q, k, v, y;
  double scale = 1.0;
  Mask mask;
  Tiles tiles;
  std::optional<View> bias;                 ///< of softmax weights
  std::optional<std::int64_t> useful_pairs; ///< real (query, key) pairs over the whole batch, where there is padding
  Weights weights = Weights::kSoftmax;
};

/// y = steps(x), element by element, in one pass.
struct Pointwise {
  static constexpr std::string_view kName = "pointwise";
  View x, y;
  Steps steps;
};

/// Normalises the last dimension: (x - mean) * rsqrt(var + eps) * gamma + beta, or without mean and beta as RMSNorm.
struct LayerNorm {
  static constexpr std::string_view kName = "layernorm";
  View x, y, gamma;
  std::optional<View> beta; ///< absent: RMSNorm
  double eps = 1e-5;
};

/// y[b, i, j, ch] = steps(sum over taps of x[b, i*stride + u - pad, j*stride + v - pad, ch] * w[ch, u, v]), channels
/// last, zero padding.
struct DepthwiseConv2d {
  static constexpr std::string_view kName = "depthwise_conv2d";
  View x, w, y; ///< [batch, height, width, channels], [channels, kernel, kernel], [batch, out_h, out_w, channels]
  std::int64_t stride = 1;
  std::int64_t pad = 0;
  Steps epilogue;
  std::optional<std::int64_t> useful_taps = {}; ///< of one channel of all images, where some pixels are padding
};

/// y[b, i, j, o] = steps(sum over taps and input channels of the group of x * w[o, u, v, c]), channels last, zero
/// padding.
struct Conv2d {
  static constexpr std::string_view kName = "conv2d";
  View x, w, y; ///< [batch, height, width, in], [out, kernel, kernel, in / groups], [batch, out_h, out_w, out]
  std::int64_t stride = 1;
  std::int64_t pad = 0;
  std::int64_t groups = 1;
  Steps epilogue;
};

/// y[b, i, j, ch] = mean of x over the kernel's taps that fall inside the map (count_include_pad = false), channels
/// last.
struct Pool {
  static constexpr std::string_view kName = "pool";
  View x, y;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t pad = 0;
};

/// y[..., d] = sum, mean or maximum over n of x[..., n, d].
struct Reduce {
  static constexpr std::string_view kName = "reduce";
  using Kind = ReduceKind;
  View x, y;
  Kind kind = Kind::kSum;
};

/// A convolution along the channels of y[b, c] = sum over taps of x[b, c + u - kernel/2] * w[u], zero padding: the gate
/// of efficient channel attention (Wang et al. 2020, eq. 4).
struct ChannelConv1d {
  static constexpr std::string_view kName = "channel_conv1d";
  View x, w, y; ///< [batch, channels], [kernel], [batch, channels]
};

/// Exclusive prefix sum: y[..., g, r] = sum over g' < g of x[..., g', r]; y[..., 0, r] = 0.
struct CumSum {
  static constexpr std::string_view kName = "cumsum";
  View x, y;
};

/// y[..., i, c] = x[..., index[i], c], or 0 where the index is negative: rolls, pads and crops of token maps, and the
/// relative position bias of window attention. The indices are a constant tensor of the graph.
struct Gather {
  static constexpr std::string_view kName = "gather";
  View x, index, y;
  std::shared_ptr<const std::vector<float>> indices; ///< the values of the index tensor
};

/// y = x: moves data, 0 FLOPs.
struct Copy {
  static constexpr std::string_view kName = "copy";
  View x, y;
  /// A layout copy (head split or merge) that the fused plan may replace by a strided access of its neighbours.
  bool layout = false;
};

/// Rotary position embedding, half-split pairing (channel i with i + d/2): x, y: [..., n, d]; table: [n, d] holds the
/// d/2 cosines, then the d/2 sines of each position (Su et al. 2021, eq. 34).
struct Rope {
  static constexpr std::string_view kName = "rope";
  View x, y, table;
};

using Primitive = std::variant<MatMul, Softmax, Attention, Pointwise, LayerNorm, DepthwiseConv2d, Conv2d, Pool, Reduce,
                               ChannelConv1d, CumSum, Gather, Copy, Rope>;

/// One primitive with its place in the network, such as "block3/mixer/scores".
struct Op {
  std::string scope;
  Primitive primitive;
};

std::string_view name_of(const Primitive& primitive);
/// The sizes that matter, such as "b3 m196 n196 k64" for a matrix product.
std::string shape_of(const Primitive& primitive);

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

} // namespace attnprof::operators
