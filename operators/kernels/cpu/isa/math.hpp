#pragma once
#include "operators/kernels/cpu/isa/vec.hpp"

// Vector functions. Errors stated in units in the last place were measured over the whole range
// (tests/unit/cpu_math_test).
namespace attnprof::operators::ATTNPROF_ISA {

/// x = n ln 2 + f with |f| <= ln 2 / 2: exp(f) by a minimax polynomial (relative error 3e-9), n in the low bits of
/// `shifted`.
struct ReducedExp {
  Vec shifted;
  Vec value;
};
ATTNPROF_INLINE ReducedExp reduce_exp(Vec x) {
  constexpr float kRound = 12582912.0F; // 1.5 * 2^23: adding it leaves the nearest integer in the low mantissa bits
  const Vec shifted = fma(x, broadcast(1.44269504F), broadcast(kRound));
  const Vec n = shifted - kRound;
  Vec f = fnma(n, broadcast(0.693359375F), x); // nine bits: n times it is exact, with or without FMA
  f = fnma(n, broadcast(-2.12194440e-4F), f);
  Vec p = fma(broadcast(0.001381453407F), f, broadcast(0.008368722655F));
  p = fma(p, f, broadcast(0.04166838938F));
  p = fma(p, f, broadcast(0.1666652057F));
  p = fma(p, f, broadcast(0.4999999344F));
  return {shifted, fma(p, f * f, f) + 1.0F};
}

/// exp of values that are not positive; results below the smallest normal number become 0, -inf gives 0, NaN stays NaN.
ATTNPROF_INLINE Vec exp_nonpositive(Vec x) {
  const ReducedExp r = reduce_exp(x);
  const Vec scale = as_float((as_uint(r.shifted) << 23) + 0x3f800000U); // wraps where x < -87.3
  return x < -87.33654F ? zero() : r.value * scale;
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
  const IntVec n = as_int(r.shifted) - 0x4b400000;
  const IntVec half = n >> 1;
  // 2^n alone may not be representable where the result is subnormal or close to overflow.
  return r.value * as_float(UintVec(half + 127) << 23) * as_float(UintVec(n - half + 127) << 23);
}

/// 1 / (1 + exp(-x)); results below the smallest normal number become 0.
ATTNPROF_INLINE Vec sigmoid(Vec x) {
  const Vec e = exp_nonpositive(-abs(x));
  return (x < 0.0F ? e : broadcast(1.0F)) / (e + 1.0F);
}
ATTNPROF_INLINE Vec silu(Vec x) {
  return x * sigmoid(x);
}

/// Rational minimax approximation z P(z^2) / Q(z^2), relative error 2e-8 up to |z| = 3.92, from where erf rounds to 1.
/// The quotient exceeds 1 at 4.1, so that larger arguments are held there and the result is cut to 1.
ATTNPROF_INLINE Vec erf(Vec x) {
  const Vec z = min(broadcast(4.1F), max(broadcast(-4.1F), x));
  const Vec s = z * z;
  Vec p = fma(broadcast(2.0500549943e-6F), s, broadcast(2.848305232e-4F));
  p = fma(p, s, broadcast(3.7641880109e-3F));
  p = fma(p, s, broadcast(0.052744221413F));
  p = fma(p, s, broadcast(0.19037598993F));
  p = fma(p, s, broadcast(1.1283791466F));
  Vec q = fma(broadcast(3.8088657776e-5F), s, broadcast(1.1621521417e-3F));
  q = fma(q, s, broadcast(0.014966361048F));
  q = fma(q, s, broadcast(0.11409609035F));
  q = fma(q, s, broadcast(0.5020490769F));
  q = fma(q, s, broadcast(1.0F));
  return min(broadcast(1.0F), max(broadcast(-1.0F), z * p / q));
}
/// The erf form, as in Hendrycks and Gimpel 2016.
ATTNPROF_INLINE Vec gelu(Vec x) {
  return 0.5F * x * (1.0F + erf(x * 0.70710678F));
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
