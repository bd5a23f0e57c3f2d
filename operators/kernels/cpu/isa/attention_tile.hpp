#pragma once
#include "operators/kernels/cpu/isa/rows.hpp"

// The online softmax shared by the tiled and the decoding core (Milakov and Gimelshein 2018).
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

/// Turns the scores of a row into weights relative to the running maximum; `keep` are its attended columns, the others
/// become 0. Returns the factor by which everything summed so far must be corrected.
static inline float weigh_row(RowState& state, float* s, Index n, RowRange keep, float scale, const float* bias) {
  const Index begin = least(most(keep.begin, 0), n);
  const Index end = least(most(keep.end, begin), n);
  for (Index i = 0; i < begin; ++i) {
    s[i] = 0.0F;
  }
  for (Index i = end; i < n; ++i) {
    s[i] = 0.0F;
  }
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

/// Divides by the sum; a row that attended to nothing is zero.
ATTNPROF_INLINE float normaliser(const RowState& state) {
  return state.sum == 0.0F ? 0.0F : 1.0F / state.sum;
}

} // namespace attnprof::operators::ATTNPROF_ISA
