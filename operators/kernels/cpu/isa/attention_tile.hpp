#pragma once
#include "operators/kernels/cpu/isa/rows.hpp"

// The weights of a row of scores, shared by the tiled and the decoding core: the online softmax (Milakov and Gimelshein
// 2018) or the squared relu (Hua et al. 2022).
namespace attnprof::operators::ATTNPROF_ISA {

/// Running maximum and sum of one query row.
struct RowState {
  float top = -__builtin_inff();
  float sum = 0.0F;
};

/// s = s * scale + bias, when the scale cannot be folded into the exponential.
static inline void scale_scores(float* s, Index n, float scale, const float* bias) {
  if (bias == nullptr) {
    map_row(s, s, n, [&](Vec v) { return v * scale; });
  } else {
    map_rows(s, bias, s, n, [&](Vec v, Vec b) { return fma(v, broadcast(scale), b); });
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

/// s = exp(s * scale - top); returns the sum.
static inline float exp_scores(float* s, Index n, float scale, float top) {
  const Vec factor = broadcast(scale);
  const Vec shift = broadcast(-top);
  Vec a = zero();
  Vec b = zero();
  Index i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const Vec e = exp_nonpositive(fma(load(s + i), factor, shift));
    const Vec f = exp_nonpositive(fma(load(s + i + kLanes), factor, shift));
    store(s + i, e);
    store(s + i + kLanes, f);
    a += e;
    b += f;
  }
  for (; i < n; i += kLanes) {
    const Vec e = keep_first(exp_nonpositive(fma(load_upto(s + i, n - i), factor, shift)), n - i, zero());
    store_upto(s + i, e, n - i);
    a += e;
  }
  return sum_of(a + b);
}

ATTNPROF_INLINE float exp_one(float x) {
  return exp_nonpositive(broadcast(x))[0];
}

/// The attended part of a row of n scores; the others become 0.
static inline Range keep_attended(float* s, Index n, RowRange keep) {
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
  map_row(s + part.begin, s + part.begin, part.end - part.begin, [](Vec v) {
    const Vec positive = max(zero(), v); // NaN passes, as in the relu of the eager plan
    return positive * positive;
  });
}

/// Turns the scores of a row into weights relative to the running maximum; `keep` are its attended columns, the others
/// become 0. Returns the factor by which everything summed so far must be corrected.
static inline float weigh_row(RowState& state, float* s, Index n, RowRange keep, float scale, const float* bias) {
  const auto [begin, end] = keep_attended(s, n, keep);
  if (begin == end) {
    return 1.0F;
  }
  if (bias != nullptr || scale <= 0.0F) {
    scale_scores(s + begin, end - begin, scale, bias == nullptr ? nullptr : bias + begin);
    scale = 1.0F;
  }
  const float seen = top_score(s + begin, end - begin) * scale;
  const float top = seen > state.top ? seen : state.top;
  if (top == -__builtin_inff()) { // only -inf so far, or NaN, which the sum below would carry
    float sum = 0.0F;
    for (Index i = begin; i < end; ++i) {
      s[i] = s[i] == s[i] ? 0.0F : s[i];
      sum += s[i];
    }
    state.sum += sum;
    return 1.0F;
  }
  const float correction = exp_one(state.top - top);
  state.sum = state.sum * correction + exp_scores(s + begin, end - begin, scale, top);
  state.top = top;
  return correction;
}

static inline void scale_row(float* row, Index n, float factor) {
  map_row(row, row, n, [&](Vec v) { return v * factor; });
}

/// What the sums of a row are multiplied by at the end: the softmax divides by its sum, and a row that attended to
/// nothing is zero.
ATTNPROF_INLINE float final_factor(const cpu::AttentionArgs& args, const RowState& state) {
  if (args.squared_relu) {
    return args.scale;
  }
  return state.sum == 0.0F ? 0.0F : 1.0F / state.sum;
}

} // namespace attnprof::operators::ATTNPROF_ISA
