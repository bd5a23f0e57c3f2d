// Compute probes: independent chains, as many as registers allow, so that latency never limits.
#pragma once

#include "profilers/isa/probe_vector.hpp"

namespace attnprof::profilers::ATTNPROF_ISA {

template <int... kIndex>
struct Indices {};
template <int kCount, int... kIndex>
struct MakeIndices : MakeIndices<kCount - 1, kCount - 1, kIndex...> {};
template <int... kIndex>
struct MakeIndices<0, kIndex...> {
  using Type = Indices<kIndex...>;
};

// Two registers hold the constants; 4 to 5 cycles of latency times 2 pipes need 8 to 10 chains at least.
inline constexpr int kChains = kRegisters == 32 ? 24 : 12;
// FMA chains and ADD chains beside each other: some cores have pipes for additions alone.
inline constexpr int kMixedFma = kRegisters == 32 ? 12 : 8;
inline constexpr int kMixedAdd = kRegisters == 32 ? 12 : 6;

template <typename Vector, int... kIndex>
ATTNPROF_INLINE void fma_chains(std::int64_t iterations, Indices<kIndex...> /*chains*/) {
  Vector a = Vector{} + 0.5F;
  Vector b = Vector{} + 0.25F;
  keep(a);
  keep(b);
  Vector c[sizeof...(kIndex)] = {(Vector{} + static_cast<float>(kIndex))...};
  for (std::int64_t i = 0; i < iterations; ++i)
    ((c[kIndex] = fma(a, c[kIndex], b), keep(c[kIndex])), ...);
}

// Without fused operations, products and sums in chains of their own: one of each counts as one FMA.
template <typename Vector, int... kIndex>
ATTNPROF_INLINE void product_and_sum_chains(std::int64_t iterations, Indices<kIndex...> /*chains*/) {
  Vector one = Vector{} + 1.0F;
  Vector step = Vector{} + 0.25F;
  keep(one);
  keep(step);
  Vector products[sizeof...(kIndex)] = {(Vector{} + static_cast<float>(kIndex))...};
  Vector sums[sizeof...(kIndex)] = {(Vector{} + static_cast<float>(kIndex))...};
  for (std::int64_t i = 0; i < iterations; ++i)
    ((products[kIndex] = products[kIndex] * one, keep(products[kIndex]), sums[kIndex] = sums[kIndex] + step,
      keep(sums[kIndex])),
     ...);
}

template <int... kFma, int... kAdd>
ATTNPROF_INLINE void mixed_chains(std::int64_t iterations, Indices<kFma...> /*fma*/, Indices<kAdd...> /*add*/) {
  Floats a = splat(0.5F);
  Floats b = splat(0.25F);
  keep(a);
  keep(b);
  Floats c[sizeof...(kFma)] = {splat(static_cast<float>(kFma))...};
  Floats d[sizeof...(kAdd)] = {splat(static_cast<float>(kAdd))...};
  for (std::int64_t i = 0; i < iterations; ++i) {
    ((c[kFma] = fma(a, c[kFma], b), keep(c[kFma])), ...);
    ((d[kAdd] = a + d[kAdd], keep(d[kAdd])), ...);
  }
}

inline constexpr int kPairs = kHasFma ? kChains : 6;
inline constexpr double kFmaWorkF32 = 2.0 * kPairs * kFloats;
inline constexpr double kFmaWorkF64 = 2.0 * kPairs * kDoubles;
inline constexpr double kMixedWork = (2.0 * kMixedFma + kMixedAdd) * kFloats;

template <typename Vector>
static void run_fma(std::int64_t iterations) {
  if constexpr (kHasFma)
    fma_chains<Vector>(iterations, typename MakeIndices<kPairs>::Type{});
  else
    product_and_sum_chains<Vector>(iterations, typename MakeIndices<kPairs>::Type{});
}

[[maybe_unused]] static void run_fma_add(std::int64_t iterations) {
  mixed_chains(iterations, MakeIndices<kMixedFma>::Type{}, MakeIndices<kMixedAdd>::Type{});
}

#if defined(__AVX512F__)
// bf16 products are no part of x86-64-v4: the caller asks the processor before it calls this.
template <int... kIndex>
[[gnu::target("avx512bf16")]] static void bf16_chains(std::int64_t iterations, Indices<kIndex...> /*chains*/) {
  const __m512i halves = _mm512_set1_epi32(0x3f003f00); // 0.5 in both halves
  __m512bh a = reinterpret_cast<__m512bh>(halves);
  __m512bh b = a;
  asm volatile("" : "+v"(a));
  asm volatile("" : "+v"(b));
  __m512 c[sizeof...(kIndex)] = {_mm512_set1_ps(static_cast<float>(kIndex))...};
  for (std::int64_t i = 0; i < iterations; ++i) {
    const auto step = [&](__m512 & sum) __attribute__((target("avx512bf16"), always_inline)) {
      sum = _mm512_dpbf16_ps(sum, a, b);
      asm volatile("" : "+v"(sum));
    };
    (step(c[kIndex]), ...);
  }
}
inline constexpr double kBf16Work = 2.0 * kChains * 2 * kFloats;
static void run_bf16_dot(std::int64_t iterations) {
  bf16_chains(iterations, MakeIndices<kChains>::Type{});
}
#endif

// e^x to about 2 units in the last place: range reduction by ln 2 in two parts, then the polynomial of Cephes' expf.
ATTNPROF_INLINE Floats exponential_of(Floats x) {
  const Floats lowest = splat(-87.3F);
  const Floats highest = splat(88.3F);
  x = x < lowest ? lowest : x;
  x = x > highest ? highest : x;
  const Floats shift = splat(12582912.0F); // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const Floats shifted = fma(x, splat(1.44269504F), shift);
  const Floats n = shifted - shift;
  Floats r = fma(n, splat(-0.693359375F), x);
  r = fma(n, splat(2.12194440e-4F), r);
  Floats p = splat(1.9875691500e-4F);
  p = fma(p, r, splat(1.3981999507e-3F));
  p = fma(p, r, splat(8.3334519073e-3F));
  p = fma(p, r, splat(4.1665795894e-2F));
  p = fma(p, r, splat(1.6666665459e-1F));
  p = fma(p, r, splat(5.0000001201e-1F));
  p = fma(p * r, r, r) + 1.0F;
  const Ints exponent = (reinterpret_cast<Ints>(shifted) - reinterpret_cast<Ints>(shift)) << 23;
  return reinterpret_cast<Floats>(reinterpret_cast<Ints>(p) + exponent);
}

static void exponential(const float* in, float* out, std::size_t count) {
  constexpr std::size_t kStep = 4 * static_cast<std::size_t>(kFloats);
  for (std::size_t i = 0; i < count; i += kStep) {
    // Four chains side by side hide the latency of one.
    const Floats y0 = exponential_of(load(in + i));
    const Floats y1 = exponential_of(load(in + i + kStep / 4));
    const Floats y2 = exponential_of(load(in + i + kStep / 2));
    const Floats y3 = exponential_of(load(in + i + 3 * kStep / 4));
    store<false>(out + i, y0);
    store<false>(out + i + kStep / 4, y1);
    store<false>(out + i + kStep / 2, y2);
    store<false>(out + i + 3 * kStep / 4, y3);
  }
}

inline constexpr std::size_t kExpCount = 1024; // 4 KiB in, 4 KiB out: inside any first-level cache
static void run_exp(std::int64_t iterations) {
  alignas(64) float in[kExpCount];
  alignas(64) float out[kExpCount];
  for (std::size_t i = 0; i < kExpCount; ++i)
    in[i] = -0.01F * static_cast<float>(i); // scores below their maximum, as softmax sees them
  for (std::int64_t i = 0; i < iterations; ++i) {
    exponential(in, out, kExpCount);
    asm volatile("" : : "r"(in), "r"(out) : "memory");
  }
}

} // namespace attnprof::profilers::ATTNPROF_ISA
