#pragma once
#include "operators/kernels/cpu/isa/rows.hpp"

// Products of few query rows with keys and values that are read once, in place, and never packed. They are bound by
// the reading, which is fastest in order, from a few places at once (Zen 3: 14 GB/s from one, 17 from two, 10 where two
// neighbouring rows alternate). Registers want several keys beside each other too, so those come from parts of a tile
// that lie far apart, each of which is read in order.
namespace attnprof::operators::ATTNPROF_ISA {

/// Keys beside each other: sums of scores, or weights of a mix, take half of the registers.
template <int R>
inline constexpr int kKeysBeside = kLanes > R ? kLanes / R : 1;

/// Bytes by which reading is ahead: hardware stops at every page, and the processor's window spans a few lines.
inline constexpr Index kAheadBytes = 2048;

template <class T>
ATTNPROF_INLINE void fetch_ahead(const T* p) {
  __builtin_prefetch(reinterpret_cast<const std::byte*>(p) + kAheadBytes); // what does not exist is not fetched
}

/// out[i] = sum of the lanes of sums[i].
ATTNPROF_INLINE Vec sums_of_all(Vec (&sums)[kLanes]) {
  transpose(sums);
#pragma GCC unroll 4
  for (int step = kLanes / 2; step > 0; step /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < step; ++i) {
      sums[i] += sums[i + step];
    }
  }
  return sums[0];
}

template <int R, int J, class T>
ATTNPROF_INLINE void add_products(Vec (&sums)[R * J], const float* q, Index q_row, const T* k, Index part, Index at,
                                  Index left) {
  Vec rows[R];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    rows[r] = load_upto(q + r * q_row + at, left);
  }
#pragma GCC unroll 16
  for (int j = 0; j < J; ++j) {
    const Vec key = load_upto(k + j * part + at, left);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      sums[r * J + j] = fma(rows[r], key, sums[r * J + j]);
    }
  }
}

/// The sums of q[r] . k[j], lane by lane, for R rows of q and J keys `part` elements apart: partial[r * J + j][kLanes].
template <int R, int J, class T>
ATTNPROF_INLINE void score_keys(const float* q, Index q_row, Index width, const T* k, Index part, float* partial) {
  constexpr Index kLine = 64 / static_cast<Index>(sizeof(T));
  Vec sums[R * J];
#pragma GCC unroll 16
  for (int i = 0; i < R * J; ++i) {
    sums[i] = zero();
  }
  Index at = 0;
  for (; at + kLine <= width; at += kLine) {
#pragma GCC unroll 16
    for (int j = 0; j < J; ++j) {
      fetch_ahead(k + j * part + at);
    }
#pragma GCC unroll 8
    for (Index lane = 0; lane < kLine; lane += kLanes) {
      add_products<R, J>(sums, q, q_row, k, part, at + lane, kLanes);
    }
  }
  for (; at < width; at += kLanes) {
    add_products<R, J>(sums, q, q_row, k, part, at, width - at);
  }
#pragma GCC unroll 16
  for (int i = 0; i < R * J; ++i) {
    store(partial + i * kLanes, sums[i]);
  }
}

/// scores[r][j * part + i] = the sum of the lanes of partial[i][r * J + j] for i < count.
template <int R, int J>
ATTNPROF_INLINE void add_up_scores(const float* partial, Index count, Index part, float* scores, Index scores_row) {
  for (Index i = 0; i < count; ++i) {
    alignas(64) float results[R * J];
    Vec sums[R * J];
#pragma GCC unroll 16
    for (int u = 0; u < R * J; ++u) {
      sums[u] = load(partial + (i * R * J + u) * kLanes);
    }
    if constexpr (R * J == kLanes) {
      store(results, sums_of_all(sums));
    } else {
#pragma GCC unroll 16
      for (int u = 0; u < R * J; ++u) {
        results[u] = sum_of(sums[u]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
      for (int j = 0; j < J; ++j) {
        scores[r * scores_row + j * part + i] = results[r * J + j];
      }
    }
  }
}

/// `count` times J keys, the first of each from k on, their parts `part` keys apart.
template <int R, int J, class T>
ATTNPROF_INLINE void score_parts(const float* q, Index q_row, Index width, const T* k, Index k_row, Index count,
                                 Index part, float* scores, Index scores_row) {
  // Sums wait to be added up: the additions of one key would hold up the next one's products.
  constexpr Index kWaiting = 16;
  alignas(64) float partial[kWaiting * R * J * kLanes];
  for (Index first = 0; first < count; first += kWaiting) {
    const Index waiting = least(kWaiting, count - first);
    for (Index i = 0; i < waiting; ++i) {
      score_keys<R, J>(q, q_row, width, k + (first + i) * k_row, part * k_row, partial + i * R * J * kLanes);
    }
    add_up_scores<R, J>(partial, waiting, part, scores + first, scores_row);
  }
}

/// scores[r][j] = q[r] . k[j] for R rows of q.
template <int R, class T>
void score_rows(const float* q, Index q_row, Index width, const T* k, Index k_row, Index keys, float* scores,
                Index scores_row) {
  constexpr Index kBeside = kKeysBeside<R>;
  const Index part = keys / kBeside;
  const Index whole = part * kBeside;
  score_parts<R, kBeside>(q, q_row, width, k, k_row, part, part, scores, scores_row);
  score_parts<R, 1>(q, q_row, width, k + whole * k_row, k_row, keys - whole, 0, scores + whole, scores_row);
}

/// One vector of what R rows mixed plus J values, `part` elements apart.
template <int R, int J, class T>
ATTNPROF_INLINE void add_values(const Vec (&weights)[R * J], const T* v, Index part, float* mixed, Index width,
                                Index left) {
  Vec values[J];
#pragma GCC unroll 16
  for (int j = 0; j < J; ++j) {
    values[j] = load_upto(v + j * part, left);
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    Vec sum = load_upto(mixed + r * width, left);
#pragma GCC unroll 16
    for (int j = 0; j < J; ++j) {
      sum = fma(weights[r * J + j], values[j], sum);
    }
    store_upto(mixed + r * width, sum, left);
  }
}

template <int R, int J, class T>
ATTNPROF_INLINE void mix_parts(const float* weights, Index weights_row, const T* v, Index v_row, Index count,
                               Index part, float* mixed, Index width) {
  constexpr Index kLine = 64 / static_cast<Index>(sizeof(T));
  for (Index i = 0; i < count; ++i) {
    const T* value = v + i * v_row;
    Vec factors[R * J];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
      for (int j = 0; j < J; ++j) {
        factors[r * J + j] = broadcast(weights[r * weights_row + j * part + i]);
      }
    }
    Index at = 0;
    for (; at + kLine <= width; at += kLine) {
#pragma GCC unroll 16
      for (int j = 0; j < J; ++j) {
        fetch_ahead(value + j * part * v_row + at);
      }
#pragma GCC unroll 8
      for (Index lane = at; lane < at + kLine; lane += kLanes) {
        add_values<R, J>(factors, value + lane, part * v_row, mixed + lane, width, kLanes);
      }
    }
    for (; at < width; at += kLanes) {
      add_values<R, J>(factors, value + at, part * v_row, mixed + at, width, width - at);
    }
  }
}

/// mixed[r] += sum over keys of weights[r][key] * v[key] for R rows of `width`.
template <int R, class T>
void mix_rows(const float* weights, Index weights_row, Index keys, const T* v, Index v_row, float* mixed, Index width) {
  constexpr Index kBeside = kKeysBeside<R>;
  const Index part = keys / kBeside;
  const Index whole = part * kBeside;
  mix_parts<R, kBeside>(weights, weights_row, v, v_row, part, part, mixed, width);
  mix_parts<R, 1>(weights + whole, weights_row, v + whole * v_row, v_row, keys - whole, 0, mixed, width);
}

/// f.operator()<R>(first) for parts of `rows` rows: fours, then two, then one.
template <class F>
ATTNPROF_INLINE void for_row_parts(Index rows, F&& f) {
  Index r = 0;
  for (; r + 4 <= rows; r += 4) {
    f.template operator()<4>(r);
  }
  if (r + 2 <= rows) {
    f.template operator()<2>(r);
    r += 2;
  }
  if (r < rows) {
    f.template operator()<1>(r);
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
