#pragma once
#include "operators/kernels/cpu/isa/vec.hpp"

// Vector functions. Errors stated in units in the last place were measured over the whole range
// (tests/unit/cpu_math_test).
namespace attnprof::operators::ATTNPROF_ISA {

/// x = n ln 2 + f with |f| <= ln 2 / 2: exp(f) by a minimax polynomial (relative error 3e-9), n + 127 in the low bits
/// of `shifted`.
struct ReducedExp {
  Vec shifted;
  Vec value;
};
/// Adding it leaves the nearest integer, plus the bias of exponents, in the low mantissa bits: 1.5 * 2^23 + 127.
inline constexpr float kRoundBiased = 12583039.0F;
inline constexpr std::int32_t kRoundBiasedBits = 0x4b40007f;

ATTNPROF_INLINE ReducedExp reduce_exp(Vec x) {
  const Vec shifted = fma(x, broadcast(1.44269504F), broadcast(kRoundBiased));
  const Vec n = shifted - kRoundBiased;
  Vec f = fnma(n, broadcast(0.693359375F), x); // nine bits: n times it is exact, with or without FMA
  f = fnma(n, broadcast(-2.12194440e-4F), f);
  // By halves, not one term after another: the functions are bound by the latency of this chain.
  const Vec f2 = f * f;
  const Vec low = fma(broadcast(0.1666652057F), f, broadcast(0.4999999344F));
  Vec high = fma(broadcast(0.008368722655F), f, broadcast(0.04166838938F));
  high = fma(broadcast(0.001381453407F), f2, high);
  return {shifted, fma(fma(high, f2, low), f2, f + 1.0F)};
}
/// 2^n; for n = 128 infinity.
ATTNPROF_INLINE Vec scale_of(const ReducedExp& r) {
  return as_float(as_uint(r.shifted) << 23);
}

/// exp of values that are not positive; results below the smallest normal number become 0, -inf gives 0, NaN stays NaN.
ATTNPROF_INLINE Vec exp_nonpositive(Vec x) {
  const ReducedExp r = reduce_exp(x);
  return x < -87.33654F ? zero() : r.value * scale_of(r); // the scale wraps there
}

/// 2^x of values that are not positive, for the fused softmax, whose scores are in powers of two: x = n + f with
/// |f| <= 1/2 and 2^f by a polynomial (relative error 1.5e-7, exactly 1 at 0). From -126.5 on downwards 0, -inf gives
/// 0, NaN stays NaN. Half the operations of exp_nonpositive: no constant has to be split, and no result is selected.
ATTNPROF_INLINE Vec exp2_nonpositive(Vec x) {
  constexpr float kRound = 12582912.0F;        // as above
  const Vec held = max(broadcast(-127.0F), x); // NaN passes, being the second operand
  const Vec shifted = held + kRound;
  const Vec f = held - (shifted - kRound);
  Vec p = fma(broadcast(0.001327647198F), f, broadcast(0.009675541334F));
  p = fma(p, f, broadcast(0.05550713274F));
  p = fma(p, f, broadcast(0.2402211972F));
  p = fma(p, f, broadcast(0.6931469671F));
  p = fma(p, f, broadcast(1.0F));
  return p * as_float((as_uint(shifted) << 23) + 0x3f800000U); // the scale of n = -127 is 0
}

/// exp over the whole range, subnormal results included.
ATTNPROF_INLINE Vec exp(Vec x) {
  // Bounds past which the result is 0 or infinite anyway; NaN passes, being the second operand.
  const Vec inside = min(broadcast(89.0F), max(broadcast(-105.0F), x));
  const ReducedExp r = reduce_exp(inside);
  const IntVec n = as_int(r.shifted) - kRoundBiasedBits;
  const IntVec half = n >> 1;
  // 2^n alone may not be representable where the result is subnormal or close to overflow.
  return r.value * as_float(UintVec(half + 127) << 23) * as_float(UintVec(n - half + 127) << 23);
}

/// 1 + exp(-x) for x >= -88.7, infinite below -88.4; NaN stays NaN.
ATTNPROF_INLINE Vec one_plus_exp_of_negative(Vec x) {
  const ReducedExp r = reduce_exp(-min(broadcast(87.33F), x)); // from there on the sum is 1
  return fma(r.value, scale_of(r), broadcast(1.0F));
}
/// 1 / (1 + exp(-x)); results below the smallest normal number become 0.
ATTNPROF_INLINE Vec sigmoid(Vec x) {
  const Vec quotient = 1.0F / one_plus_exp_of_negative(max(broadcast(-88.7F), x));
  return x < -87.33654F ? zero() : quotient;
}
/// x / (1 + exp(-x)); -0 below -88.4.
ATTNPROF_INLINE Vec silu(Vec x) {
  const Vec a = max(broadcast(-88.7F), x);
  return a / one_plus_exp_of_negative(a);
}

/// erf(x / sqrt 2) / 2 as a rational minimax approximation x P(x^2) / Q(x^2), relative error 2e-8 up to |x| = 5.54,
/// from where it rounds to a half. The quotient exceeds that at 5.8, so that P and Q are held there and the result is
/// cut.
ATTNPROF_INLINE Vec normal_integral(Vec x) {
  const Vec s = min(broadcast(33.62F), x * x);
  const Vec s2 = s * s;
  Vec p = fma(broadcast(0.01902938923F), s, broadcast(5.287810235F));
  p = fma(p, s2, fma(broadcast(139.7624922F), s, broadcast(3916.735197F)));
  p = fma(p, s2, fma(broadcast(28274.27614F), s, broadcast(335169.4044F)));
  Vec q = s + 61.02352824F;
  q = fma(q, s2, fma(broadcast(1571.739402F), s, broadcast(23964.31841F)));
  q = fma(q, s2, fma(broadcast(210897.0413F), s, broadcast(840145.1211F)));
  return min(broadcast(0.5F), max(broadcast(-0.5F), x * p / q));
}
ATTNPROF_INLINE Vec erf(Vec x) {
  return 2.0F * normal_integral(x * 1.41421356F);
}
/// The erf form, as in Hendrycks and Gimpel 2016: x times the integral of the normal density up to x.
ATTNPROF_INLINE Vec gelu(Vec x) {
  return x * (normal_integral(x) + 0.5F);
}

/// (1 - e) / (1 + e) with e = exp(-2 |x|), and the series around 0, where 1 - e cancels.
ATTNPROF_INLINE Vec tanh(Vec x) {
  const Vec e = exp_nonpositive(-2.0F * abs(x));
  const Vec large = (1.0F - e) / (1.0F + e);
  const Vec s = x * x;
  Vec p = fma(broadcast(0.02186948854F), s, broadcast(-0.05396825397F));
  p = fma(p, s, broadcast(0.1333333333F));
  p = fma(p, s, broadcast(-0.3333333333F));
  const Vec small = fma(p * s, x, x);
  const IntVec sign = as_int(x) & IntVec(UintVec{} + 0x80000000U);
  return abs(x) < 0.25F ? small : as_float(as_int(large) | sign);
}
/// x times the sigmoid of twice the argument that the tanh form takes: the same function.
ATTNPROF_INLINE Vec gelu_tanh(Vec x) {
  return x * sigmoid(1.59576912F * fma(x * x * x, broadcast(0.044715F), x));
}

} // namespace attnprof::operators::ATTNPROF_ISA
