#pragma once
#include "operators/core/dtype.hpp"
#include "operators/core/mask.hpp"
#include "operators/core/view.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// The primitives. A workload is a list of them (R1), and one op is one launch. Each has, and cannot compile without,
// `work_of` (core/work.cpp), `io_of` (core/io.cpp), a reference loop (kernels/reference) and a CPU kernel
// (kernels/cpu).
namespace attnprof::operators {

/// Element-wise functions. Their cost stands in step_traits, their meaning in kernels/reference/scalar.hpp.
enum class StepFn {
  kScale,    ///< x * value
  kAdd,      ///< x + operand: bias, residual, mask or relative position bias
  kMul,      ///< x * operand: gating
  kRelu,     ///< max(x, 0)
  kGelu,     ///< 0.5 * x * (1 + erf(x / sqrt 2)), the erf form
  kSilu,     ///< x * sigmoid(x)
  kSigmoid,  ///< 1 / (1 + exp(-x))
  kMaskFill, ///< -inf where the mask does not attend; last two dimensions are queries and keys
};

struct StepTraits {
  std::string_view name;
  std::int64_t flops;           ///< vector FLOPs per element
  std::int64_t transcendentals; ///< of which transcendental
  bool takes_operand;
};
/// The one table of element-wise costs (DESIGN.md, section 4).
const StepTraits& step_traits(StepFn fn);

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
  /// Which two axes of the product the mask speaks about: scores are (m, n), the value mix is (m, k).
  enum class MaskAxes { kNone, kRowsColumns, kRowsInner };
  View a, b, c;
  Mask mask;
  MaskAxes mask_axes = MaskAxes::kNone;
  Steps epilogue;
};

/// Softmax over the last dimension.
struct Softmax {
  static constexpr std::string_view kName = "softmax";
  View x, y;
};

/// The fused attention core: y = softmax(scale * q k^T + bias, masked) v, tile by tile with a running maximum and sum
/// (online softmax, Milakov and Gimelshein 2018; Dao et al. 2022, algorithm 1). Nothing of size n_q * n_k is stored.
/// q, y: [batch, kv_heads, group, n_q, qk_dim | v_dim]; k, v: [batch, kv_heads, n_k, qk_dim | v_dim];
/// bias: [batch, kv_heads, group, n_q, n_k]. Key tiles that the mask empties are skipped.
struct Attention {
  static constexpr std::string_view kName = "attention";
  View q, k, v, y;
  double scale = 1.0;
  Mask mask;
  Tiles tiles;
  std::optional<View> bias;
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

using Primitive = std::variant<MatMul, Softmax, Attention, Pointwise, LayerNorm, DepthwiseConv2d, Copy, Rope>;

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
