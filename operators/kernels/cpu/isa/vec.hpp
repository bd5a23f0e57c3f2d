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
#if defined(ATTNPROF_EMULATE_AVX512)
#include "operators/kernels/cpu/isa/emulated_avx512.hpp"
#endif
#if defined(ATTNPROF_EMULATE_AVX512) || defined(__AVX512F__)
#define ATTNPROF_AVX512
#endif

#ifndef ATTNPROF_ISA
#error "sources under isa/ are compiled through attnprof_add_isa_sources, once per instruction set"
#endif

// One vector type per instruction set, so that one kernel source serves all. Everything here is internal to its
// translation unit (static), hence compiled for its instruction set and never shared with another.
namespace attnprof::operators::ATTNPROF_ISA {

#if defined(ATTNPROF_AVX512)
inline constexpr int kLanes = 16;
inline constexpr int kTileRows = 14;
#elif defined(__AVX2__)
inline constexpr int kLanes = 8;
inline constexpr int kTileRows = 6;
#else
inline constexpr int kLanes = 4;
inline constexpr int kTileRows = 6;
#endif
inline constexpr int kTileVectors = 2;
inline constexpr int kTileColumns = kTileVectors * kLanes;

using Index = std::int64_t;
using Vec = float __attribute__((vector_size(4 * kLanes), may_alias));
using VecUnaligned = float __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
using IntVec = std::int32_t __attribute__((vector_size(4 * kLanes), may_alias));
using UintVec = std::uint32_t __attribute__((vector_size(4 * kLanes), may_alias));
using HalfVec = std::uint16_t __attribute__((vector_size(2 * kLanes), may_alias));
using HalfVecUnaligned = std::uint16_t __attribute__((vector_size(2 * kLanes), aligned(2), may_alias));
/// The storage of bf16: the upper half of a float.
using Bf16 = std::uint16_t;

#define ATTNPROF_INLINE [[gnu::always_inline]] static inline
#define ATTNPROF_INLINE_MEMBER [[gnu::always_inline]] inline
/// Behind the parameters of a lambda. A call would pass vectors through memory.
#define ATTNPROF_INLINE_LAMBDA __attribute__((always_inline))

ATTNPROF_INLINE Index least(Index a, Index b) {
  return a < b ? a : b;
}
ATTNPROF_INLINE Index most(Index a, Index b) {
  return a > b ? a : b;
}
ATTNPROF_INLINE Index rounded_up(Index value, Index step) {
  return (value + step - 1) / step * step;
}

/// Not `Vec{} + x`: adding zero is an operation that the compiler must keep.
ATTNPROF_INLINE Vec broadcast(float x) {
#if defined(ATTNPROF_AVX512)
  return _mm512_set1_ps(x);
#elif defined(__AVX2__)
  return _mm256_set1_ps(x);
#else
  return Vec{x, x, x, x};
#endif
}
ATTNPROF_INLINE Vec zero() {
  return Vec{};
}
ATTNPROF_INLINE IntVec as_int(Vec x) {
  return reinterpret_cast<IntVec>(x);
}
ATTNPROF_INLINE UintVec as_uint(Vec x) {
  return reinterpret_cast<UintVec>(x);
}
ATTNPROF_INLINE Vec as_float(IntVec x) {
  return reinterpret_cast<Vec>(x);
}
ATTNPROF_INLINE Vec as_float(UintVec x) {
  return reinterpret_cast<Vec>(x);
}

/// 0, 1, 2 ...
ATTNPROF_INLINE IntVec iota() {
  IntVec out{};
  for (int i = 0; i < kLanes; ++i) {
    out[i] = i;
  }
  return out;
}

ATTNPROF_INLINE Vec fma(Vec a, Vec b, Vec c) {
#if defined(ATTNPROF_AVX512)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}
/// c - a * b
ATTNPROF_INLINE Vec fnma(Vec a, Vec b, Vec c) {
  return fma(-a, b, c);
}

/// As the machine does it: b where either is NaN.
ATTNPROF_INLINE Vec max(Vec a, Vec b) {
#if defined(ATTNPROF_AVX512)
  return _mm512_max_ps(a, b);
#elif defined(__AVX2__)
  return _mm256_max_ps(a, b);
#elif defined(__SSE2__)
  return _mm_max_ps(a, b);
#else
  return a > b ? a : b;
#endif
}
ATTNPROF_INLINE Vec min(Vec a, Vec b) {
#if defined(ATTNPROF_AVX512)
  return _mm512_min_ps(a, b);
#elif defined(__AVX2__)
  return _mm256_min_ps(a, b);
#elif defined(__SSE2__)
  return _mm_min_ps(a, b);
#else
  return a < b ? a : b;
#endif
}
ATTNPROF_INLINE Vec abs(Vec x) {
  return as_float(as_int(x) & 0x7fffffff);
}

// Not through a pointer to an unaligned vector: g++ 12 moves such an object in halves when it is copied to memory.
ATTNPROF_INLINE Vec load(const float* p) {
#if defined(ATTNPROF_AVX512)
  return _mm512_loadu_ps(p);
#elif defined(__AVX2__)
  return _mm256_loadu_ps(p);
#elif defined(__SSE2__)
  return _mm_loadu_ps(p);
#else
  return *reinterpret_cast<const VecUnaligned*>(p);
#endif
}
ATTNPROF_INLINE void store(float* p, Vec x) {
#if defined(ATTNPROF_AVX512)
  _mm512_storeu_ps(p, x);
#elif defined(__AVX2__)
  _mm256_storeu_ps(p, x);
#elif defined(__SSE2__)
  _mm_storeu_ps(p, x);
#else
  *reinterpret_cast<VecUnaligned*>(p) = x;
#endif
}

#if defined(ATTNPROF_AVX512)
ATTNPROF_INLINE __mmask16 first_lanes(Index n) {
  return static_cast<__mmask16>((1U << n) - 1U);
}
#elif defined(__AVX2__)
ATTNPROF_INLINE __m256i first_lanes(Index n) {
  alignas(32) static constexpr std::int32_t kBits[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kBits + 8 - n));
}
#endif

/// The first n lanes (0 < n < kLanes), the others zero; memory behind them is not touched.
ATTNPROF_INLINE Vec load_first(const float* p, Index n) {
#if defined(ATTNPROF_AVX512)
  return _mm512_maskz_loadu_ps(first_lanes(n), p);
#elif defined(__AVX2__)
  return _mm256_maskload_ps(p, first_lanes(n));
#else
  Vec out{};
  for (Index i = 0; i < n; ++i) {
    out[i] = p[i];
  }
  return out;
#endif
}
ATTNPROF_INLINE void store_first(float* p, Vec x, Index n) {
#if defined(ATTNPROF_AVX512)
  _mm512_mask_storeu_ps(p, first_lanes(n), x);
#elif defined(__AVX2__)
  // Masked stores are microcoded on several AMD generations: halves instead.
  __m128 part = _mm256_castps256_ps128(x);
  if ((n & 4) != 0) {
    _mm_storeu_ps(p, part);
    p += 4;
    part = _mm256_extractf128_ps(x, 1);
  }
  if ((n & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), part);
    p += 2;
    part = _mm_movehl_ps(part, part);
  }
  if ((n & 1) != 0) {
    _mm_store_ss(p, part);
  }
#else
  for (Index i = 0; i < n; ++i) {
    p[i] = x[i];
  }
#endif
}
/// Past the caches; p must be aligned to the vector.
ATTNPROF_INLINE void store_stream(float* p, Vec x) {
#if defined(ATTNPROF_AVX512)
  _mm512_stream_ps(p, x);
#elif defined(__AVX2__)
  _mm256_stream_ps(p, x);
#elif defined(__SSE2__)
  _mm_stream_ps(p, x);
#else
  store(p, x);
#endif
}
ATTNPROF_INLINE void fence_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

ATTNPROF_INLINE Vec from_bf16(HalfVec bits) {
  return as_float(__builtin_convertvector(bits, UintVec) << 16);
}
/// Nearest, ties to even; NaN stays NaN.
ATTNPROF_INLINE HalfVec to_bf16(Vec x) {
  const UintVec bits = as_uint(x);
  const UintVec rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  const UintVec kept = x == x ? rounded : bits | 0x400000U;
  return __builtin_convertvector(kept >> 16, HalfVec);
}
ATTNPROF_INLINE float from_bf16(Bf16 bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}
ATTNPROF_INLINE Bf16 to_bf16(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t kept = x == x ? bits + 0x7fffU + ((bits >> 16) & 1U) : bits | 0x400000U;
  return static_cast<Bf16>(kept >> 16);
}
ATTNPROF_INLINE Vec load(const Bf16* p) {
  return from_bf16(HalfVec(*reinterpret_cast<const HalfVecUnaligned*>(p)));
}
ATTNPROF_INLINE void store(Bf16* p, Vec x) {
  *reinterpret_cast<HalfVecUnaligned*>(p) = to_bf16(x);
}
ATTNPROF_INLINE Vec load_first(const Bf16* p, Index n) {
  HalfVec out{};
  for (Index i = 0; i < n; ++i) {
    out[i] = p[i];
  }
  return from_bf16(out);
}
ATTNPROF_INLINE void store_first(Bf16* p, Vec x, Index n) {
  const HalfVec bits = to_bf16(x);
  for (Index i = 0; i < n; ++i) {
    p[i] = bits[i];
  }
}
ATTNPROF_INLINE float load_one(const float* p) {
  return *p;
}
ATTNPROF_INLINE float load_one(const Bf16* p) {
  return from_bf16(*p);
}
ATTNPROF_INLINE void store_one(float* p, float x) {
  *p = x;
}
ATTNPROF_INLINE void store_one(Bf16* p, float x) {
  *p = to_bf16(x);
}

template <class T>
ATTNPROF_INLINE Vec load_upto(const T* p, Index n) {
  return n >= kLanes ? load(p) : load_first(p, n);
}
template <class T>
ATTNPROF_INLINE void store_upto(T* p, Vec x, Index n) {
  if (n >= kLanes) {
    store(p, x);
  } else {
    store_first(p, x, n);
  }
}

/// Lanes at or past n replaced by `other`.
ATTNPROF_INLINE Vec keep_first(Vec x, Index n, Vec other) {
  return iota() < static_cast<std::int32_t>(n) ? x : other;
}

ATTNPROF_INLINE float sum_of(Vec x) {
#if defined(ATTNPROF_AVX512)
  return _mm512_reduce_add_ps(x);
#elif defined(__AVX2__)
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
#else
  return (x[0] + x[2]) + (x[1] + x[3]);
#endif
}
ATTNPROF_INLINE float max_of(Vec x) {
#if defined(ATTNPROF_AVX512)
  return _mm512_reduce_max_ps(x);
#elif defined(__AVX2__)
  __m128 half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  half = _mm_max_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
#else
  const float a = x[0] > x[2] ? x[0] : x[2];
  const float b = x[1] > x[3] ? x[1] : x[3];
  return a > b ? a : b;
#endif
}

/// Lanes of a and b in turn, taken from the lower or upper half of each group of four: one instruction on x86.
template <int kWidth>
ATTNPROF_INLINE Vec interleave(Vec a, Vec b, bool upper) {
  IntVec index{};
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    const int within = i % 4;
    const int source = (within / kWidth) % 2; // a or b
    const int lane = within / (2 * kWidth) * kWidth + within % kWidth + (upper ? 2 : 0);
    index[i] = i / 4 * 4 + lane + source * kLanes;
  }
  return __builtin_shuffle(a, b, index);
}

/// Groups of four lanes whose number has bit `kStep` clear (or set) of a, then the same of b, each in its place.
template <int kStep>
ATTNPROF_INLINE Vec exchange_groups(Vec a, Vec b, bool upper) {
#if defined(__AVX2__) && !defined(ATTNPROF_AVX512)
  return upper ? _mm256_permute2f128_ps(a, b, 0x31) : _mm256_permute2f128_ps(a, b, 0x20);
#else
  IntVec index{};
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    const int group = i / 4;
    const bool from_b = (group & kStep) != 0;
    const int source = (group & ~kStep) | (upper ? kStep : 0);
    index[i] = source * 4 + i % 4 + (from_b ? kLanes : 0);
  }
  return __builtin_shuffle(a, b, index);
#endif
}

template <int kStep>
ATTNPROF_INLINE void exchange_rows(Vec (&rows)[kLanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if ((i & (4 * kStep)) == 0) {
      const Vec a = rows[i];
      const Vec b = rows[i + 4 * kStep];
      rows[i] = exchange_groups<kStep>(a, b, false);
      rows[i + 4 * kStep] = exchange_groups<kStep>(a, b, true);
    }
  }
}

/// In place: rows[i][j] becomes rows[j][i]. First within groups of four rows and four lanes, then the groups
/// themselves.
ATTNPROF_INLINE void transpose(Vec (&rows)[kLanes]) {
#pragma GCC unroll 4
  for (int i = 0; i < kLanes; i += 4) {
    const Vec a = interleave<1>(rows[i], rows[i + 1], false);
    const Vec b = interleave<1>(rows[i], rows[i + 1], true);
    const Vec c = interleave<1>(rows[i + 2], rows[i + 3], false);
    const Vec d = interleave<1>(rows[i + 2], rows[i + 3], true);
    rows[i] = interleave<2>(a, c, false);
    rows[i + 1] = interleave<2>(a, c, true);
    rows[i + 2] = interleave<2>(b, d, false);
    rows[i + 3] = interleave<2>(b, d, true);
  }
#if defined(ATTNPROF_AVX512)
  exchange_rows<2>(rows);
#endif
#if defined(__AVX2__)
  exchange_rows<1>(rows);
#endif
}

/// R rows where they lie, `row` elements apart. Every third row has an address, the two behind it are one or two steps
/// further, and one index register serves all of them. Unless the addresses are hidden from it, g++ 12 computes one for
/// each row, and keeps on the stack those for which it lacks registers.
template <int R, class T = const float>
struct RowsInPlace {
  static constexpr int kBases = (R + 2) / 3;
  T* at[kBases];
  Index row;

  ATTNPROF_INLINE_MEMBER RowsInPlace(T* first, Index row_step) : row(row_step) {
#pragma GCC unroll 8
    for (int i = 0; i < kBases; ++i) {
      at[i] = first + 3 * i * row_step;
      asm("" : "+r"(at[i]));
    }
  }
  [[nodiscard]] ATTNPROF_INLINE_MEMBER T* address(int i) const {
    return at[i / 3] + i % 3 * row;
  }
  [[nodiscard]] ATTNPROF_INLINE_MEMBER T value(int i) const {
    return *address(i);
  }
  ATTNPROF_INLINE_MEMBER void advance(Index columns = 1) {
#pragma GCC unroll 8
    for (int i = 0; i < kBases; ++i) {
      at[i] += columns;
    }
  }
};

#if defined(__AVX2__) && !defined(ATTNPROF_AVX512)
/// Eight vectors that lie `step` apart, turned. Halves of rows that lie four apart are brought together as they are
/// loaded, which takes no shuffle; transpose() would take eight more.
ATTNPROF_INLINE void load_turned_8(const float* p, Index step, Vec (&rows)[kLanes]) {
  const RowsInPlace<8> from(p, step);
  const auto halves = [&](int row, Index at) {
    return Vec(_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from.address(row) + at)),
                                    _mm_loadu_ps(from.address(row + 4) + at), 1));
  };
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    const Vec r0 = halves(0, 4 * half);
    const Vec r1 = halves(1, 4 * half);
    const Vec r2 = halves(2, 4 * half);
    const Vec r3 = halves(3, 4 * half);
    const Vec a = interleave<1>(r0, r1, false);
    const Vec b = interleave<1>(r0, r1, true);
    const Vec c = interleave<1>(r2, r3, false);
    const Vec d = interleave<1>(r2, r3, true);
    rows[4 * half] = interleave<2>(a, c, false);
    rows[4 * half + 1] = interleave<2>(a, c, true);
    rows[4 * half + 2] = interleave<2>(b, d, false);
    rows[4 * half + 3] = interleave<2>(b, d, true);
  }
}
#endif

/// kLanes vectors that lie x_column apart, turned.
template <class In>
ATTNPROF_INLINE void load_turned(const In* x, Index x_column, Vec (&tile)[kLanes]) {
#if defined(__AVX2__) && !defined(ATTNPROF_AVX512)
  if constexpr (sizeof(In) == 4) {
    load_turned_8(x, x_column, tile);
    return;
  }
#endif
  const RowsInPlace<kLanes, const In> from(x, x_column);
#pragma GCC unroll 16
  for (int c = 0; c < kLanes; ++c) {
    tile[c] = load(from.address(c));
  }
  transpose(tile);
}

} // namespace attnprof::operators::ATTNPROF_ISA
