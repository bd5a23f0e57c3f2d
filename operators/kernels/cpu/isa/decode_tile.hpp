#pragma once
#include "operators/kernels/cpu/isa/rows.hpp"

// Products of few query rows with keys and values that are read once, in place, and never packed. They are bound by
// the reading. Memory delivers less where lines are asked for in another order than they lie in (Zen 3: 14.5 GB/s in
// order, 8 to 10 otherwise), while registers want several keys beside each other. So the keys at hand lie in the
// first-level cache already, and each line of them that is used asks for one line of the keys that come next, in order.
namespace attnprof::operators::ATTNPROF_ISA {

/// Lines that will be used next, asked for in order. Kept in registers: passed by value and returned.
struct Upcoming {
  const std::byte* at = nullptr; ///< may run past the last row: what does not exist is not fetched

  ATTNPROF_INLINE_MEMBER void fetch_line() {
    __builtin_prefetch(at);
    at += 64;
  }
};

/// Sums and their operands together fill the registers.
template <int R>
inline constexpr int kRowsBeside = kLanes > R ? kLanes / R : 1;

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
ATTNPROF_INLINE void add_products(Vec (&sums)[R * J], const float* q, Index q_row, const T* k, Index k_row, Index at,
                                  Index left) {
  Vec rows[R];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    rows[r] = load_upto(q + r * q_row + at, left);
  }
#pragma GCC unroll 16
  for (int j = 0; j < J; ++j) {
    const Vec key = load_upto(k + j * k_row + at, left);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      sums[r * J + j] = fma(rows[r], key, sums[r * J + j]);
    }
  }
}

/// The sums of q[r] . k[j], lane by lane, for R rows of q and J keys: partial[r * J + j][kLanes].
template <int R, int J, class T>
ATTNPROF_INLINE Upcoming score_keys(const float* q, Index q_row, Index width, const T* k, Index k_row,
                                    Upcoming upcoming, float* partial) {
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
      upcoming.fetch_line();
    }
#pragma GCC unroll 8
    for (Index lane = 0; lane < kLine; lane += kLanes) {
      add_products<R, J>(sums, q, q_row, k, k_row, at + lane, kLanes);
    }
  }
  for (; at < width; at += kLanes) {
    add_products<R, J>(sums, q, q_row, k, k_row, at, width - at);
  }
#pragma GCC unroll 16
  for (int i = 0; i < R * J; ++i) {
    store(partial + i * kLanes, sums[i]);
  }
  return upcoming;
}

/// Keys at a time whose sums wait to be added up: the additions of one key would hold up the next one's products.
inline constexpr Index kWaiting = 32;

/// scores[r][j] = the sum of the lanes of partial[j / J][r * J + j % J].
template <int R, int J>
ATTNPROF_INLINE void add_up_scores(const float* partial, Index keys, float* scores, Index scores_row) {
  for (Index first = 0; first < keys; first += J) {
    alignas(64) float results[R * J];
    Vec sums[R * J];
#pragma GCC unroll 16
    for (int i = 0; i < R * J; ++i) {
      sums[i] = load(partial + (first * R + i) * kLanes);
    }
    if constexpr (R * J == kLanes) {
      store(results, sums_of_all(sums));
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < R * J; ++i) {
        results[i] = sum_of(sums[i]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
      for (int j = 0; j < J; ++j) {
        scores[r * scores_row + first + j] = results[r * J + j];
      }
    }
  }
}

/// scores[r][j] = q[r] . k[j] for R rows of q.
template <int R, class T>
Upcoming score_rows(const float* q, Index q_row, Index width, const T* k, Index k_row, Index keys, Upcoming upcoming,
                    float* scores, Index scores_row) {
  constexpr Index kBeside = kRowsBeside<R>;
  alignas(64) float partial[kWaiting * R * kLanes];
  const Index whole = keys / kBeside * kBeside;
  for (Index first = 0; first < whole; first += kWaiting) {
    const Index count = least(kWaiting, whole - first);
    for (Index j = 0; j < count; j += kBeside) {
      upcoming =
          score_keys<R, kBeside>(q, q_row, width, k + (first + j) * k_row, k_row, upcoming, partial + j * R * kLanes);
    }
    add_up_scores<R, kBeside>(partial, count, scores + first, scores_row);
  }
  for (Index j = whole; j < keys; ++j) {
    upcoming = score_keys<R, 1>(q, q_row, width, k + j * k_row, k_row, upcoming, partial);
    add_up_scores<R, 1>(partial, 1, scores + j, scores_row);
  }
  return upcoming;
}

/// mixed[r][V vectors] (+)= sum over keys of weights[r][key] * v[key][V vectors]; the last vector has `last` lanes.
template <int R, int V, class T>
ATTNPROF_INLINE Upcoming mix_strip(bool add, const float* weights, Index weights_row, Index keys, const T* v,
                                   Index v_row, Upcoming upcoming, float* mixed, Index width, Index last) {
  constexpr Index kStripBytes = V * kLanes * static_cast<Index>(sizeof(T));
  Vec sums[R * V];
#pragma GCC unroll 16
  for (int i = 0; i < R * V; ++i) {
    sums[i] = add ? load_upto(mixed + i / V * width + i % V * kLanes, i % V == V - 1 ? last : kLanes) : zero();
  }
  for (Index key = 0; key < keys; ++key) {
#pragma GCC unroll 8
    for (Index byte = 0; byte < kStripBytes; byte += 64) {
      upcoming.fetch_line();
    }
    Vec row[V];
#pragma GCC unroll 16
    for (int u = 0; u < V; ++u) {
      row[u] = load_upto(v + key * v_row + u * kLanes, u == V - 1 ? last : kLanes);
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vec weight = broadcast(weights[r * weights_row + key]);
#pragma GCC unroll 16
      for (int u = 0; u < V; ++u) {
        sums[r * V + u] = fma(weight, row[u], sums[r * V + u]);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < R * V; ++i) {
    store_upto(mixed + i / V * width + i % V * kLanes, sums[i], i % V == V - 1 ? last : kLanes);
  }
  return upcoming;
}

/// mixed: [R][width].
template <int R, class T>
Upcoming mix_rows(bool add, const float* weights, Index weights_row, Index keys, const T* v, Index v_row,
                  Upcoming upcoming, float* mixed, Index width) {
  constexpr Index kStrip = kRowsBeside<R> * kLanes;
  Index j = 0;
  for (; j + kStrip <= width; j += kStrip) {
    upcoming =
        mix_strip<R, kRowsBeside<R>>(add, weights, weights_row, keys, v + j, v_row, upcoming, mixed + j, width, kLanes);
  }
  for (; j < width; j += kLanes) {
    upcoming = mix_strip<R, 1>(add, weights, weights_row, keys, v + j, v_row, upcoming, mixed + j, width,
                               least(kLanes, width - j));
  }
  return upcoming;
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
