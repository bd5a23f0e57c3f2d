#pragma once
#include "operators/kernels/cpu/isa/pack.hpp"

// Vector functions. Errors stated in units in the last place were measured over the whole range
// (tests/unit/cpu_math_test).
namespace attnprof::operators::ATTNPROF_ISA {

/// Adding it leaves the nearest integer, plus the bias of exponents, in the low mantissa bits: 1.5 * 2^23 + 127.
inline constexpr float kRoundBiased = 12583039.0F;
inline constexpr std::int32_t kRoundBiasedBits = 0x4b40007f;

// x = n ln 2 + f with |f| <= ln 2 / 2, and exp(x) = 2^n exp(f). Two functions, not one that returns both parts: g++ 12
// keeps a pair of packs in memory.

/// n + 127 in the low mantissa bits.
template <int N>
ATTNPROF_INLINE Pack<N> biased_exponent(const Pack<N>& x) {
  return fma(x, 1.44269504F, kRoundBiased);
}
/// exp(f) by a minimax polynomial (relative error 3e-9).
template <int N>
ATTNPROF_INLINE Pack<N> exp_of_rest(const Pack<N>& x, const Pack<N>& biased) {
  const Pack<N> n = biased - kRoundBiased;
  Pack<N> f = fnma(n, 0.693359375F, x); // nine bits: n times it is exact, with or without FMA
  f = fnma(n, -2.12194440e-4F, f);
  return polynomial(f, 0.001381453407F, 0.008368722655F, 0.04166838938F, 0.1666652057F, 0.4999999344F, 1.0F, 1.0F);
}
/// 2^n; 0 for n = -127, infinity for n = 128.
template <int N>
ATTNPROF_INLINE Pack<N> scale_of(const Pack<N>& biased) {
  return each<N>([](Vec v) ATTNPROF_INLINE_LAMBDA { return as_float(as_uint(v) << 23); }, biased);
}

/// exp of values that are not positive. From -87.7 on downwards, where results are subnormal, 0; -inf gives 0, NaN
/// stays NaN.
template <int N>
ATTNPROF_INLINE Pack<N> exp_nonpositive(const Pack<N>& x) {
  const Pack<N> held = max(-88.0F, x); // NaN passes, being the second operand
  const Pack<N> biased = biased_exponent(held);
  return exp_of_rest(held, biased) * scale_of(biased);
}

/// 2^x of values that are not positive, for the fused softmax, whose scores are in powers of two: x = n + f with
/// |f| <= 1/2 and 2^f by a polynomial (relative error 1.5e-7, exactly 1 at 0). From -126.5 on downwards 0, -inf gives
/// 0, NaN stays NaN. Fewer operations than exp_nonpositive: no constant has to be split.
template <int N>
ATTNPROF_INLINE Pack<N> exp2_nonpositive(const Pack<N>& x) {
  constexpr float kRound = 12582912.0F; // 1.5 * 2^23
  const Pack<N> held = max(-127.0F, x);
  const Pack<N> shifted = held + kRound;
  const Pack<N> f = held - (shifted - kRound);
  const Pack<N> p = polynomial(f, 0.001327647198F, 0.009675541334F, 0.05550713274F, 0.2402211972F, 0.6931469671F, 1.0F);
  // The scale of n = -127 is 0.
  return p * each<N>([](Vec v) ATTNPROF_INLINE_LAMBDA { return as_float((as_uint(v) << 23) + 0x3f800000U); }, shifted);
}
ATTNPROF_INLINE Vec exp2_nonpositive(Vec x) {
  return exp2_nonpositive(Pack<1>{{x}}).v[0];
}

/// exp over the whole range, subnormal results included.
template <int N>
ATTNPROF_INLINE Pack<N> exp(const Pack<N>& x) {
  // Bounds past which the result is 0 or infinite anyway.
  const Pack<N> held = min(89.0F, max(-105.0F, x));
  const Pack<N> exponent = biased_exponent(held);
  // 2^n alone may not be representable where the result is subnormal or close to overflow.
  return each<N>(
      [](Vec value, Vec biased) ATTNPROF_INLINE_LAMBDA {
        const IntVec n = as_int(biased) - kRoundBiasedBits;
        const IntVec half = n >> 1;
        return value * as_float(UintVec(half + 127) << 23) * as_float(UintVec(n - half + 127) << 23);
      },
      exp_of_rest(held, exponent), exponent);
}

/// 1 + exp(-x) for x >= -88.7, infinite below -88.4; NaN stays NaN.
template <int N>
ATTNPROF_INLINE Pack<N> one_plus_exp_of_negative(const Pack<N>& x) {
  const Pack<N> held = negative(min(87.33F, x)); // from there on the sum is 1
  const Pack<N> biased = biased_exponent(held);
  return fma(exp_of_rest(held, biased), scale_of(biased), 1.0F);
}
/// 1 / (1 + exp(-x)); results below the smallest normal number become 0.
template <int N>
ATTNPROF_INLINE Pack<N> sigmoid(const Pack<N>& x) {
  const Pack<N> quotient = 1.0F / one_plus_exp_of_negative(max(-88.7F, x));
  return each<N>([](Vec v, Vec q) ATTNPROF_INLINE_LAMBDA { return v < -87.33654F ? zero() : q; }, x, quotient);
}
/// x / (1 + exp(-x)); -0 below -88.4.
template <int N>
ATTNPROF_INLINE Pack<N> silu(const Pack<N>& x) {
  const Pack<N> a = max(-88.7F, x);
  return a / one_plus_exp_of_negative(a);
}

/// erf(x / sqrt 2) / 2 as a rational minimax approximation x P(x^2) / Q(x^2), relative error 2e-8 up to |x| = 5.54,
/// from where it rounds to a half. The quotient exceeds that at 5.8, so that P and Q are held there and the result is
/// cut.
template <int N>
ATTNPROF_INLINE Pack<N> normal_integral(const Pack<N>& x) {
  const Pack<N> s = min(33.62F, x * x);
  const Pack<N> p = polynomial(s, 0.01902938923F, 5.287810235F, 139.7624922F, 3916.735197F, 28274.27614F, 335169.4044F);
  Pack<N> q = s + 61.02352824F; // its highest coefficient is 1
  q = fma(q, s, 1571.739402F);
  q = fma(q, s, 23964.31841F);
  q = fma(q, s, 210897.0413F);
  q = fma(q, s, 840145.1211F);
  return min(0.5F, max(-0.5F, x * p / q));
}
template <int N>
ATTNPROF_INLINE Pack<N> erf(const Pack<N>& x) {
  return 2.0F * normal_integral(x * 1.41421356F);
}
/// The erf form, as in Hendrycks and Gimpel 2016: x times the integral of the normal density up to x.
template <int N>
ATTNPROF_INLINE Pack<N> gelu(const Pack<N>& x) {
  return x * (normal_integral(x) + 0.5F);
}

/// (1 - e) / (1 + e) with e = exp(-2 |x|), and the series around 0, where 1 - e cancels.
template <int N>
ATTNPROF_INLINE Pack<N> tanh(const Pack<N>& x) {
  const Pack<N> e = exp_nonpositive(-2.0F * abs(x));
  const Pack<N> large = (1.0F - e) / (1.0F + e);
  const Pack<N> s = x * x;
  const Pack<N> p = polynomial(s, 0.02186948854F, -0.05396825397F, 0.1333333333F, -0.3333333333F);
  const Pack<N> small = fma(p * s, x, x);
  return each<N>(
      [](Vec v, Vec near, Vec far) ATTNPROF_INLINE_LAMBDA {
        const IntVec sign = as_int(v) & IntVec(UintVec{} + 0x80000000U);
        return abs(v) < 0.25F ? near : as_float(as_int(far) | sign);
      },
      x, small, large);
}
/// x times the sigmoid of twice the argument that the tanh form takes: the same function.
template <int N>
ATTNPROF_INLINE Pack<N> gelu_tanh(const Pack<N>& x) {
  return x * sigmoid(1.59576912F * fma(x * x * x, 0.044715F, x));
}

} // namespace attnprof::operators::ATTNPROF_ISA
