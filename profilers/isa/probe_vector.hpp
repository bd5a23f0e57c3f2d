// One vector type per instruction set. Everything is internal to its translation unit.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
// g++ 12 warns of its own header: _mm512_undefined_ps is undefined on purpose.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#ifndef ATTNPROF_ISA
#error "sources under isa/ are compiled through attnprof_add_isa_sources, once per instruction set"
#endif

namespace attnprof::profilers::ATTNPROF_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
inline constexpr int kRegisters = 32;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
inline constexpr int kRegisters = 16;
#elif defined(__aarch64__)
inline constexpr int kVectorBytes = 16;
inline constexpr int kRegisters = 32;
#else
inline constexpr int kVectorBytes = 16;
inline constexpr int kRegisters = 16;
#endif
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
inline constexpr bool kHasFma = true;
#else
inline constexpr bool kHasFma = false;
#endif

using Floats = float __attribute__((vector_size(kVectorBytes)));
using Doubles = double __attribute__((vector_size(kVectorBytes)));
using Ints = std::int32_t __attribute__((vector_size(kVectorBytes)));
inline constexpr int kFloats = kVectorBytes / 4;
inline constexpr int kDoubles = kVectorBytes / 8;

#define ATTNPROF_INLINE [[gnu::always_inline]] static inline

// Makes the compiler believe that the value changes here, so that it can neither drop nor merge what computed it.
template <typename Vector>
ATTNPROF_INLINE void keep(Vector& value) {
#if defined(__AVX512F__)
  asm volatile("" : "+v"(value));
#elif defined(__SSE2__)
  asm volatile("" : "+x"(value));
#elif defined(__aarch64__)
  asm volatile("" : "+w"(value));
#else
  asm volatile("" : "+m"(value));
#endif
}

ATTNPROF_INLINE Floats fma(Floats a, Floats b, Floats c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

ATTNPROF_INLINE Doubles fma(Doubles a, Doubles b, Doubles c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#else
  return a * b + c;
#endif
}

ATTNPROF_INLINE Floats splat(float value) {
  return Floats{} + value;
}

ATTNPROF_INLINE Floats load(const float* from) {
  return *reinterpret_cast<const Floats*>(from);
}

template <bool kNonTemporal>
ATTNPROF_INLINE void store(float* to, Floats value) {
#if defined(__AVX512F__)
  if constexpr (kNonTemporal) {
    _mm512_stream_ps(to, value);
    return;
  }
#elif defined(__AVX2__)
  if constexpr (kNonTemporal) {
    _mm256_stream_ps(to, value);
    return;
  }
#elif defined(__SSE2__)
  if constexpr (kNonTemporal) {
    _mm_stream_ps(to, value);
    return;
  }
#endif
  *reinterpret_cast<Floats*>(to) = value;
}

} // namespace attnprof::profilers::ATTNPROF_ISA
