#pragma once

// What element-wise steps and reductions compute. Apart from op.hpp, which nvcc takes seconds to read, for every file
// and every architecture.
namespace attnprof::operators {

/// Element-wise functions. Their cost stands in step_traits, their meaning in kernels/reference/scalar.hpp.
enum class StepFn {
  kScale,      ///< x * value
  kAdd,        ///< x + operand: bias, residual, mask or relative position bias
  kMul,        ///< x * operand: gating
  kRelu,       ///< max(x, 0)
  kGelu,       ///< 0.5 * x * (1 + erf(x / sqrt 2)), the erf form
  kSilu,       ///< x * sigmoid(x)
  kSigmoid,    ///< 1 / (1 + exp(-x))
  kMaskFill,   ///< -inf where the mask does not attend; last two dimensions are queries and keys
  kMaskZero,   ///< 0 where the mask does not attend
  kSquare,     ///< x * x
  kExp,        ///< exp(x)
  kEluPlusOne, ///< elu(x) + 1 = exp(min(x, 0)) + max(x, 0): the feature map of linear attention
  kDivide,     ///< x / operand
  kTanh,       ///< tanh(x)
  kGeluTanh,   ///< 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), the form of GPT-2 and Gemma
};

enum class ReduceKind { kSum, kMean, kMax };

} // namespace attnprof::operators
