#pragma once
#include "operators/core/op.hpp"

#include <cmath>
#include <limits>

// The scalar operations that the reference loops are written in. double runs them; the counting scalar of the contract
// tests overloads the same names and adds each call to a counter, so a loop cannot do work that is not counted.
namespace attnprof::operators::reference {

/// a * b + c as one multiply-add of a matrix product or convolution.
inline double mul_add(double a, double b, double c) {
  return a * b + c;
}
inline double maximum(double a, double b) {
  return a > b ? a : b;
}
inline double minimum(double a, double b) {
  return a < b ? a : b;
}
inline double exp_of(double x) {
  return std::exp(x);
}
inline double erf_of(double x) {
  return std::erf(x);
}
inline double sigmoid_of(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}
inline double tanh_of(double x) {
  return std::tanh(x);
}
inline double rsqrt_of(double x) {
  return 1.0 / std::sqrt(x);
}
/// The plain value, for decisions that are no arithmetic (is this entry masked?).
inline double value_of(double x) {
  return x;
}
/// Another value in place of x that counts like x: guards a division without hiding it from the counter.
inline double with_value(double /*like*/, double value) {
  return value;
}

inline constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

template <class S>
bool is_masked(const S& x) {
  return value_of(x) == kMinusInfinity;
}

/// One element-wise step; the operations are the ones that step_traits charges.
template <class S>
S apply_step(const Step& step, const S& x, const S& operand, bool attended) {
  switch (step.fn) {
  case StepFn::kScale: return x * S(step.value);
  case StepFn::kAdd: return x + operand;
  case StepFn::kMul: return x * operand;
  case StepFn::kRelu: return maximum(x, S(0.0));
  case StepFn::kGelu: return S(0.5) * (x * (S(1.0) + erf_of(x * S(0.70710678118654752440))));
  case StepFn::kSilu: return x * sigmoid_of(x);
  case StepFn::kSigmoid: return sigmoid_of(x);
  case StepFn::kMaskFill: return attended ? x : with_value(x, kMinusInfinity);
  case StepFn::kMaskZero: return attended ? x : with_value(x, 0.0);
  case StepFn::kSquare: return x * x;
  case StepFn::kExp: return exp_of(x);
  case StepFn::kEluPlusOne: return exp_of(minimum(x, S(0.0))) + maximum(x, S(0.0));
  case StepFn::kDivide: return x / operand;
  case StepFn::kTanh: return tanh_of(x);
  case StepFn::kGeluTanh:
    return S(0.5) * (x * (S(1.0) + tanh_of(S(0.79788456080286535588) * (x + S(0.044715) * (x * x * x)))));
  }
  return x;
}

} // namespace attnprof::operators::reference
