#pragma once
#include <cstdint>
#include <immintrin.h>

// The few AVX-512 instructions that kernels name, on vectors of 16 lanes that the compiler splits in halves. With it
// the code for 16 lanes and tiles of 14 rows is tested on processors that lack AVX-512; it is never measured.
namespace attnprof::operators::ATTNPROF_ISA {

using Lanes16 = float __attribute__((vector_size(64), may_alias));
using Lanes16Unaligned = float __attribute__((vector_size(64), aligned(4), may_alias));
using __mmask16 = std::uint16_t; // NOLINT(bugprone-reserved-identifier): the name in vec.hpp

[[gnu::always_inline]] static inline Lanes16 _mm512_set1_ps(float x) {
  return x - Lanes16{};
}
[[gnu::always_inline]] static inline Lanes16 _mm512_loadu_ps(const float* p) {
  return *reinterpret_cast<const Lanes16Unaligned*>(p);
}
[[gnu::always_inline]] static inline void _mm512_storeu_ps(float* p, Lanes16 x) {
  *reinterpret_cast<Lanes16Unaligned*>(p) = x;
}
/// Needs an aligned address, as the instruction does.
[[gnu::always_inline]] static inline void _mm512_stream_ps(float* p, Lanes16 x) {
  *reinterpret_cast<Lanes16*>(p) = x;
}
[[gnu::always_inline]] static inline Lanes16 _mm512_maskz_loadu_ps(__mmask16 mask, const float* p) {
  Lanes16 out{};
  for (int i = 0; i < 16; ++i) {
    out[i] = (mask >> i & 1) != 0 ? p[i] : 0.0F;
  }
  return out;
}
[[gnu::always_inline]] static inline void _mm512_mask_storeu_ps(float* p, __mmask16 mask, Lanes16 x) {
  for (int i = 0; i < 16; ++i) {
    if ((mask >> i & 1) != 0) {
      p[i] = x[i];
    }
  }
}
struct Halves {
  __m256 lower, upper;
};
/// One rounding, as the instruction has.
[[gnu::always_inline]] static inline Lanes16 _mm512_fmadd_ps(Lanes16 a, Lanes16 b, Lanes16 c) {
  const auto x = __builtin_bit_cast(Halves, a);
  const auto y = __builtin_bit_cast(Halves, b);
  const auto z = __builtin_bit_cast(Halves, c);
  return __builtin_bit_cast(
      Lanes16, (Halves{_mm256_fmadd_ps(x.lower, y.lower, z.lower), _mm256_fmadd_ps(x.upper, y.upper, z.upper)}));
}
[[gnu::always_inline]] static inline Lanes16 _mm512_max_ps(Lanes16 a, Lanes16 b) {
  return a > b ? a : b;
}
[[gnu::always_inline]] static inline Lanes16 _mm512_min_ps(Lanes16 a, Lanes16 b) {
  return a < b ? a : b;
}
[[gnu::always_inline]] static inline float _mm512_reduce_add_ps(Lanes16 x) {
  float sums[8];
  for (int i = 0; i < 8; ++i) {
    sums[i] = x[i] + x[i + 8];
  }
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}
[[gnu::always_inline]] static inline float _mm512_reduce_max_ps(Lanes16 x) {
  float most = x[0];
  for (int i = 1; i < 16; ++i) {
    most = x[i] > most ? x[i] : most;
  }
  return most;
}

} // namespace attnprof::operators::ATTNPROF_ISA
