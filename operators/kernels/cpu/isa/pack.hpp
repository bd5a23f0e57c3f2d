#pragma once
#include "operators/kernels/cpu/isa/vec.hpp"

// Several vectors computed in lockstep: each operation is done on all of them before the next one begins.
namespace attnprof::operators::ATTNPROF_ISA {

/// The functions of math.hpp are chains of a dozen dependent operations. Written one vector after another, the
/// operations that wait fill the schedulers (64 entries of a Zen 3) before enough chains are under way to hide their
/// latency; four chains side by side leave only the operations in hand waiting. exp, SiLU and GELU took 9.8, 11.5 and
/// 9.4 cycles a vector one by one, 6.6, 7.5 and 8.2 by fours; eight do not fit in sixteen registers.
inline constexpr int kPack = 4;

template <int N>
struct Pack {
  Vec v[N];
};

ATTNPROF_INLINE Vec part_of_pack(float x, int /*i*/) {
  return broadcast(x);
}
template <int N>
ATTNPROF_INLINE Vec part_of_pack(const Pack<N>& x, int i) {
  return x.v[i];
}
/// f of the vectors of the packs (and of constants), one after another.
template <int N, class F, class... X>
ATTNPROF_INLINE Pack<N> each(F&& f, const X&... x) {
  Pack<N> out;
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    out.v[i] = f(part_of_pack(x, i)...);
  }
  return out;
}

#define ATTNPROF_PACK_OPERATOR(op)                                                                                     \
  template <int N>                                                                                                     \
  ATTNPROF_INLINE Pack<N> operator op(const Pack<N>& a, const Pack<N>& b) {                                            \
    return each<N>([](Vec x, Vec y) ATTNPROF_INLINE_LAMBDA { return x op y; }, a, b);                                  \
  }                                                                                                                    \
  template <int N>                                                                                                     \
  ATTNPROF_INLINE Pack<N> operator op(const Pack<N>& a, float b) {                                                     \
    return each<N>([](Vec x, Vec y) ATTNPROF_INLINE_LAMBDA { return x op y; }, a, b);                                  \
  }                                                                                                                    \
  template <int N>                                                                                                     \
  ATTNPROF_INLINE Pack<N> operator op(float a, const Pack<N>& b) {                                                     \
    return each<N>([](Vec x, Vec y) ATTNPROF_INLINE_LAMBDA { return x op y; }, a, b);                                  \
  }
ATTNPROF_PACK_OPERATOR(+)
ATTNPROF_PACK_OPERATOR(-)
ATTNPROF_PACK_OPERATOR(*)
ATTNPROF_PACK_OPERATOR(/)
#undef ATTNPROF_PACK_OPERATOR

/// As those of vec.hpp; constants may stand in any place but the last of max and min, where NaN passes.
template <int N>
ATTNPROF_INLINE Pack<N> max(float a, const Pack<N>& b) {
  return each<N>([](Vec x, Vec y) ATTNPROF_INLINE_LAMBDA { return max(x, y); }, a, b);
}
template <int N>
ATTNPROF_INLINE Pack<N> min(float a, const Pack<N>& b) {
  return each<N>([](Vec x, Vec y) ATTNPROF_INLINE_LAMBDA { return min(x, y); }, a, b);
}
template <int N>
ATTNPROF_INLINE Pack<N> max(const Pack<N>& a, const Pack<N>& b) {
  return each<N>([](Vec x, Vec y) ATTNPROF_INLINE_LAMBDA { return max(x, y); }, a, b);
}
template <int N, class B, class C>
ATTNPROF_INLINE Pack<N> fma(const Pack<N>& a, const B& b, const C& c) {
  return each<N>([](Vec x, Vec y, Vec z) ATTNPROF_INLINE_LAMBDA { return fma(x, y, z); }, a, b, c);
}
/// c - a * b
template <int N, class B, class C>
ATTNPROF_INLINE Pack<N> fnma(const Pack<N>& a, const B& b, const C& c) {
  return each<N>([](Vec x, Vec y, Vec z) ATTNPROF_INLINE_LAMBDA { return fnma(x, y, z); }, a, b, c);
}
template <int N>
ATTNPROF_INLINE Pack<N> negative(const Pack<N>& x) {
  return each<N>([](Vec v) ATTNPROF_INLINE_LAMBDA { return -v; }, x);
}
template <int N>
ATTNPROF_INLINE Pack<N> abs(const Pack<N>& x) {
  return each<N>([](Vec v) ATTNPROF_INLINE_LAMBDA { return abs(v); }, x);
}

/// A value in place of every element of x.
template <int N>
ATTNPROF_INLINE Pack<N> constant(const Pack<N>& x, float value) {
  return each<N>([](Vec /*v*/, Vec c) ATTNPROF_INLINE_LAMBDA { return c; }, x, value);
}
// In pairs, so that one accumulator does for a loop: a second one would cost a register that its constants need.
ATTNPROF_INLINE Vec sum_of_pack(const Pack<kPack>& x) {
  static_assert(kPack == 4);
  return (x.v[0] + x.v[1]) + (x.v[2] + x.v[3]);
}
ATTNPROF_INLINE Vec max_of_pack(const Pack<kPack>& x) {
  static_assert(kPack == 4);
  return max(max(x.v[0], x.v[1]), max(x.v[2], x.v[3]));
}

/// A polynomial of x, its highest coefficient first (Horner).
template <int N, class... C>
ATTNPROF_INLINE Pack<N> polynomial(const Pack<N>& x, float highest, float next, C... rest) {
  Pack<N> p = fma(x, highest, next);
  ((p = fma(p, x, rest)), ...);
  return p;
}

template <int N>
ATTNPROF_INLINE Pack<N> load_pack(const float* p) {
  Pack<N> out;
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    out.v[i] = load(p + i * kLanes);
  }
  return out;
}
template <int N>
ATTNPROF_INLINE void store_pack(float* p, const Pack<N>& x) {
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    store(p + i * kLanes, x.v[i]);
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
