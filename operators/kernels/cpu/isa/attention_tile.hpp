#pragma once
#include "operators/kernels/cpu/isa/rows.hpp"

// The weights of rows of scores, shared by the tiled and the decoding core: the online softmax (Milakov and Gimelshein
// 2018) or the squared relu (Hua et al. 2022). Exponents are powers of two: the factor log2(e) is part of the scale.
namespace attnprof::operators::ATTNPROF_ISA {

inline constexpr float kLog2E = 1.44269504F;

/// s = s * scale + bias, when the scale cannot be folded into the exponential.
static inline void scale_scores(float* s, Index n, float scale, const float* bias) {
  if (bias == nullptr) {
    map_row(s, s, n, [&](auto v) ATTNPROF_INLINE_LAMBDA { return v * scale; });
  } else {
    map_rows(s, bias, s, n, [&](auto v, auto b) ATTNPROF_INLINE_LAMBDA { return fma(v, scale, b); });
  }
}

static inline float top_score(const float* s, Index n) {
  Vec a = broadcast(-__builtin_inff());
  Vec b = a;
  Index i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    a = max(load(s + i), a);
    b = max(load(s + i + kLanes), b);
  }
  for (; i < n; i += kLanes) {
    a = max(keep_first(load_upto(s + i, n - i), n - i, a), a);
  }
  return max_of(max(a, b));
}

/// s = 2^(s * scale - top); returns the sums of the lanes.
static inline Vec exp_scores(float* s, Index n, float scale, float top) {
  const auto weight = [&](const auto& x) ATTNPROF_INLINE_LAMBDA { return exp2_nonpositive(fma(x, scale, -top)); };
  Vec sum = zero();
  Index i = 0;
  for (; i + kPack * kLanes <= n; i += kPack * kLanes) {
    const Pack<kPack> e = weight(load_pack<kPack>(s + i));
    store_pack(s + i, e);
    sum += sum_of_pack(e);
  }
  for (; i < n; i += kLanes) {
    const Vec e = keep_first(weight(Pack<1>{{load_upto(s + i, n - i)}}).v[0], n - i, zero());
    store_upto(s + i, e, n - i);
    sum += e;
  }
  return sum;
}

/// The attended part of the scores [0, n) of a row; the others become 0.
ATTNPROF_INLINE Range keep_attended(float* s, Index n, RowRange keep) {
  const Index begin = least(most(keep.begin, 0), n);
  const Index end = least(most(keep.end, begin), n);
  for (Index i = 0; i < begin; ++i) {
    s[i] = 0.0F;
  }
  for (Index i = end; i < n; ++i) {
    s[i] = 0.0F;
  }
  return {begin, end};
}

/// Turns the scores of a row into relu(s)^2. Nothing summed so far must be corrected, and the scale is left to the end.
static inline void square_row(float* s, Index n, RowRange keep) {
  const Range part = keep_attended(s, n, keep);
  map_row(s + part.begin, s + part.begin, part.end - part.begin, [](auto v) ATTNPROF_INLINE_LAMBDA {
    const auto positive = max(0.0F, v); // NaN passes, as in the relu of the eager plan
    return positive * positive;
  });
}

/// Running maxima, as powers of two, and sums (one a lane) of some query rows. The arrays have room for whole vectors.
struct RowStates {
  float* top;
  float* correction; ///< by which everything summed so far must be multiplied after the last weigh_rows
  float* sums;       ///< [rows][kLanes]

  static Index floats(Index rows) { return cpu::row_state_floats(rows, kLanes); }
  static RowStates in(float* memory, Index rows) {
    const Index room = rounded_up(rows, kLanes);
    return {memory, memory + room, memory + 2 * room};
  }
  void clear(Index rows) const {
    for (Index i = 0; i < rounded_up(rows, kLanes); ++i) {
      top[i] = -__builtin_inff();
      correction[i] = 1.0F;
    }
    for (Index i = 0; i < rows * kLanes; ++i) {
      sums[i] = 0.0F;
    }
  }
  [[nodiscard]] float sum(Index row) const { return sum_of(load(sums + row * kLanes)); }
};

/// Only -inf so far, or NaN, which the sum carries on.
static inline Vec weigh_nothing(float* s, Index n) {
  Vec sum = zero();
  for (Index i = 0; i < n; ++i) {
    s[i] = s[i] == s[i] ? 0.0F : s[i];
    sum[0] += s[i];
  }
  return sum;
}

/// Turns the scores s[rows][n] into weights relative to the running maxima; of row r only keep(r) is attended to, the
/// others become 0. bias(r) is that row's bias or null. Maxima of all rows come first, then all exponentials: the
/// latency of a maximum, which every exponential of its row waits for, passes while other rows are worked on.
template <class Keep, class Bias>
ATTNPROF_INLINE void weigh_rows(const RowStates& state, Index first, Index rows, float* s, Index s_row, Index n,
                                float scale, Keep&& keep, Bias&& bias) {
  constexpr Index kMost = 64; // rows at a time, more than any tile has
  Range parts[kMost];
  float tops[kMost];
  float factor = scale * kLog2E;
  for (Index r = 0; r < rows; ++r) {
    float* row = s + r * s_row;
    parts[r] = keep_attended(row, n, keep(r));
    const Index count = parts[r].end - parts[r].begin;
    const float* row_bias = bias(r);
    if (row_bias != nullptr || scale <= 0.0F) {
      scale_scores(row + parts[r].begin, count, scale, row_bias == nullptr ? nullptr : row_bias + parts[r].begin);
      factor = kLog2E;
    }
    const float seen = top_score(row + parts[r].begin, count) * factor;
    tops[r] = count > 0 && seen > state.top[first + r] ? seen : state.top[first + r];
  }
  for (Index r = 0; r < rows; r += kLanes) {
    const Index count = least(kLanes, rows - r);
    const Vec change = load_upto(state.top + first + r, count) - load_upto(tops + r, count);
    // -inf less -inf: nothing was summed yet.
    const Vec correction = change == change ? exp2_nonpositive(change) : broadcast(1.0F);
    store_upto(state.correction + first + r, correction, count);
    store_upto(state.top + first + r, load_upto(tops + r, count), count);
  }
  for (Index r = 0; r < rows; ++r) {
    float* row = s + r * s_row + parts[r].begin;
    const Index count = parts[r].end - parts[r].begin;
    const Vec sum = tops[r] == -__builtin_inff() ? weigh_nothing(row, count) : exp_scores(row, count, factor, tops[r]);
    float* sums = state.sums + (first + r) * kLanes;
    store(sums, fma(load(sums), broadcast(state.correction[first + r]), sum));
  }
}

static inline void scale_row(const float* x, float* y, Index n, float factor) {
  map_row(x, y, n, [&](auto v) ATTNPROF_INLINE_LAMBDA { return v * factor; });
}

/// What the sums of a row are multiplied by at the end: the softmax divides by its sum, and a row that attended to
/// nothing is zero.
ATTNPROF_INLINE float final_factor(const cpu::AttentionArgs& args, float sum) {
  if (args.squared_relu) {
    return args.scale;
  }
  return sum == 0.0F ? 0.0F : 1.0F / sum;
}

} // namespace attnprof::operators::ATTNPROF_ISA
