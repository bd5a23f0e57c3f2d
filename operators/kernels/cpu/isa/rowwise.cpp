#include "operators/kernels/cpu/isa/entries.hpp"
#include "operators/kernels/cpu/isa/rows.hpp"

namespace attnprof::operators::ATTNPROF_ISA {
namespace {

using cpu::RowsArgs;

/// Calls row(position, row index) for a share of all rows of the nest.
template <class F>
ATTNPROF_INLINE void for_rows(const RowsArgs& args, int share, int shares, F&& row) {
  const Range mine = part_of(args.nest.count * args.rows, share, shares);
  if (mine.begin >= mine.end) {
    return;
  }
  Position at = position_of(args.nest, mine.begin / args.rows);
  Index r = mine.begin % args.rows;
  for (Index flat = mine.begin; flat < mine.end; ++flat) {
    row(at, r);
    if (++r == args.rows) {
      r = 0;
      advance(args.nest, at);
    }
  }
}

ATTNPROF_INLINE float* scratch_of(const RowsArgs& args, int share) {
  return reinterpret_cast<float*>(args.scratch + share * args.scratch_stride);
}

/// Reduces a row with four accumulators, which keep additions of several cycles apart; take(sum, vector) adds to one,
/// lanes past the end are `neutral`.
template <class Take>
ATTNPROF_INLINE void take_row(const float* x, Index n, Vec (&sums)[4], Vec neutral, Take&& take) {
  Index i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    take(sums[0], load(x + i));
    take(sums[1], load(x + i + kLanes));
    take(sums[2], load(x + i + 2 * kLanes));
    take(sums[3], load(x + i + 3 * kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) {
    take(sums[0], load(x + i));
  }
  if (i < n) {
    take(sums[1], keep_first(load_first(x + i, n - i), n - i, neutral));
  }
}
ATTNPROF_INLINE float total_of(const Vec (&sums)[4]) {
  return sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

float max_of_row(const float* x, Index n) {
  const Vec least_vec = broadcast(-__builtin_inff());
  Vec tops[4] = {least_vec, least_vec, least_vec, least_vec};
  take_row(x, n, tops, least_vec, [](Vec& top, Vec v) ATTNPROF_INLINE_LAMBDA { top = max(v, top); });
  return max_of(max(max(tops[0], tops[1]), max(tops[2], tops[3])));
}

/// A row of softmax and the one after it, whose maximum is found while this one's exponentials are computed: its loads
/// and comparisons fill what the arithmetic leaves idle.
struct SoftmaxRow {
  const float* x;
  const float* next;  ///< null: there is none
  const float* ahead; ///< a row to fetch
  float top;          ///< maximum of x
};

/// exp(x - top) as a power of two: the product with log2(e) is rounded, which adds 6e-8 * |x - top| to the relative
/// error of exp2_nonpositive, at most 3e-8 of the row's largest weight, and spares the split of a constant.
template <int N>
ATTNPROF_INLINE Pack<N> exp_below(const Pack<N>& x, float top) {
  return exp2_nonpositive((x - top) * 1.44269504F);
}

/// y = exp(x - top); returns the sum, and the maximum of the next row in place of `top`.
template <bool kNext>
float exp_row(SoftmaxRow& row, float* y, Index n) {
  // Copies: a store to y might change what lies behind the reference.
  const float* x = row.x;
  const float* next = row.next;
  const float* ahead = row.ahead;
  const float shift = row.top;
  const Vec least_vec = broadcast(-__builtin_inff());
  Vec sum = zero();
  Vec top = least_vec;
  Index i = 0;
  for (; i + kPack * kLanes <= n; i += kPack * kLanes) {
    fetch<kPack * kLanes>(ahead + i);
    const Pack<kPack> e = exp_below(load_pack<kPack>(x + i), shift);
    if constexpr (kNext) {
      top = max(max_of_pack(load_pack<kPack>(next + i)), top);
    }
    store_pack(y + i, e);
    sum += sum_of_pack(e);
  }
  for (; i < n; i += kLanes) {
    const Pack<1> rest = exp_below(Pack<1>{{load_upto(x + i, n - i)}}, shift);
    const Vec e = keep_first(rest.v[0], n - i, zero());
    if constexpr (kNext) {
      top = max(keep_first(load_upto(next + i, n - i), n - i, least_vec), top);
    }
    store_upto(y + i, e, n - i);
    sum += e;
  }
  row.top = max_of(top);
  return sum_of(sum);
}

/// Nothing attended: zeros, where the formula has 0 / 0. A row of NaN has no maximum either and stays NaN.
void softmax_of_nothing(SoftmaxRow& row, float* y, Index n) {
  bool any_nan = false;
  for (Index i = 0; i < n; ++i) {
    any_nan |= row.x[i] != row.x[i];
  }
  map_row(row.x, y, n, [&](auto v) ATTNPROF_INLINE_LAMBDA { return constant(v, any_nan ? __builtin_nanf("") : 0.0F); });
  row.top = row.next == nullptr ? 0.0F : max_of_row(row.next, n);
}

/// `exponentials` is where they wait for their sum: y itself, or a row of scratch where y goes past the caches. Leaves
/// the maximum of the next row in `row.top`.
void softmax_row(SoftmaxRow& row, float* exponentials, float* y, Index n) {
  if (row.top == -__builtin_inff()) {
    softmax_of_nothing(row, y, n);
    return;
  }
  const float sum = row.next == nullptr ? exp_row<false>(row, exponentials, n) : exp_row<true>(row, exponentials, n);
  const float factor = 1.0F / sum;
  if (exponentials == y) {
    map_row(y, y, n, [&](auto v) ATTNPROF_INLINE_LAMBDA { return v * factor; });
  } else {
    map_row_stream(exponentials, y, n, [&](auto v) ATTNPROF_INLINE_LAMBDA { return v * factor; });
  }
}

float sum_of_row(const float* x, Index n) {
  Vec sums[4] = {};
  take_row(x, n, sums, zero(), [](Vec& sum, Vec v) ATTNPROF_INLINE_LAMBDA { sum += v; });
  return total_of(sums);
}

float squares_of_row(const float* x, Index n, float mean) {
  const Vec center = broadcast(mean);
  Vec sums[4] = {};
  take_row(x, n, sums, center, [&](Vec& sum, Vec v) ATTNPROF_INLINE_LAMBDA {
    const Vec u = v - center;
    sum = fma(u, u, sum);
  });
  return total_of(sums);
}
float squares_of_row(const float* x, Index n) {
  Vec sums[4] = {};
  take_row(x, n, sums, zero(), [](Vec& sum, Vec v) ATTNPROF_INLINE_LAMBDA { sum = fma(v, v, sum); });
  return total_of(sums);
}

template <bool kStream>
ATTNPROF_INLINE void put(float* to, Vec v) {
  if constexpr (kStream) {
    store_stream(to, v);
  } else {
    store(to, v);
  }
}

/// y[i] = f(x[i], i), past the caches where kStream and the row is aligned. The next row is fetched then: its memory is
/// idle while this one, which lies in the first-level cache by now, is computed.
template <bool kStream, class F>
ATTNPROF_INLINE void put_row(const float* x, float* y, Index n, F&& f) {
  Index i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    if constexpr (kStream) {
      fetch<2 * kLanes>(x + n + i);
    }
    const Vec a = f(load(x + i), i, kLanes);
    const Vec b = f(load(x + i + kLanes), i + kLanes, kLanes);
    put<kStream>(y + i, a);
    put<kStream>(y + i + kLanes, b);
  }
  for (; i + kLanes <= n; i += kLanes) {
    put<kStream>(y + i, f(load(x + i), i, kLanes));
  }
  if (i < n) {
    store_first(y + i, f(load_first(x + i, n - i), i, n - i), n - i);
  }
}
template <class F>
ATTNPROF_INLINE void put_row(const float* x, float* y, Index n, bool stream, F&& f) {
  if (stream && reinterpret_cast<std::uintptr_t>(y) % sizeof(Vec) == 0) {
    put_row<true>(x, y, n, f);
  } else {
    put_row<false>(x, y, n, f);
  }
}

void norm_row(const float* x, float* y, Index n, const float* gamma, const float* beta, float eps, bool stream) {
  const auto count = static_cast<float>(n);
  if (beta == nullptr) {
    const Vec scale = broadcast(1.0F / __builtin_sqrtf(squares_of_row(x, n) / count + eps));
    put_row(x, y, n, stream, [&](Vec v, Index i, Index lanes) ATTNPROF_INLINE_LAMBDA {
      return v * scale * load_upto(gamma + i, lanes);
    });
    return;
  }
  const float mean = sum_of_row(x, n) / count;
  const Vec center = broadcast(mean);
  const Vec scale = broadcast(1.0F / __builtin_sqrtf(squares_of_row(x, n, mean) / count + eps));
  put_row(x, y, n, stream, [&](Vec v, Index i, Index lanes) ATTNPROF_INLINE_LAMBDA {
    return fma((v - center) * scale, load_upto(gamma + i, lanes), load_upto(beta + i, lanes));
  });
}

void rope_row(const float* x, float* y, Index d, const float* table) {
  const Index half = d / 2;
  const float* cosines = table;
  const float* sines = table + half;
  for (Index i = 0; i < half; i += kLanes) {
    const Index n = half - i;
    const Vec low = load_upto(x + i, n);
    const Vec high = load_upto(x + half + i, n);
    const Vec c = load_upto(cosines + i, n);
    const Vec s = load_upto(sines + i, n);
    store_upto(y + i, low * c - high * s, n);
    store_upto(y + half + i, high * c + low * s, n);
  }
}

/// One step of a result that goes past the caches; false where there is no such form of it.
bool stream_step(const StepArgs& step, const float* x, const float* z, float* y, Index n) {
  switch (step.fn) {
  case StepFn::kAdd:
  case StepFn::kMul: break;
  case StepFn::kScale:
    map_row_stream(x, y, n, [&](auto v) ATTNPROF_INLINE_LAMBDA { return v * step.value; });
    return true;
  case StepFn::kGelu: map_row_stream<true>(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return gelu(v); }); return true;
  case StepFn::kGeluTanh:
    map_row_stream<true>(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return gelu_tanh(v); });
    return true;
  case StepFn::kSilu: map_row_stream<true>(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return silu(v); }); return true;
  case StepFn::kRelu: map_row_stream(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return max(0.0F, v); }); return true;
  default: return false;
  }
  if (z == nullptr) {
    return false;
  }
  if (step.fn == StepFn::kMul) {
    map_rows_stream(x, z, y, n, [](auto a, auto b) ATTNPROF_INLINE_LAMBDA { return a * b; });
  } else {
    map_rows_stream(x, z, y, n, [](auto a, auto b) ATTNPROF_INLINE_LAMBDA { return a + b; });
  }
  return true;
}

void pointwise_segment(const RowsArgs& args, const Position& at, Index row, Index column, Index n) {
  alignas(64) float x_block[kBlock];
  alignas(64) float y_block[kBlock];
  const Index x_at = outer_offset(args.x, args.nest, at) + row * args.x.row;
  const Index y_at = outer_offset(args.y, args.nest, at) + row * args.y.row;
  const bool plain = is_plain(args.x) && is_plain(args.y);
  const Index block = plain ? block_of(args.steps, n) : kBlock;
  for (Index i = column; i < column + n; i += block) {
    const Index length = least(block, column + n - i);
    const float* x = read_row(args.x, element(args.x, x_at + i * args.x.column), length, x_block);
    std::byte* target = element_to_write(args.y, y_at + i * args.y.column);
    float* y = row_to_write(args.y, target, y_block);
    if (args.stream && plain && args.steps.count == 1) {
      const Operand& o = args.steps.steps->operand;
      const bool has_row = o.address != nullptr && is_plain(o);
      const Index z_at = has_row ? outer_offset(o, args.nest, at) + row * o.row + i : 0;
      const auto* z = has_row ? reinterpret_cast<const float*>(element(o, z_at)) : nullptr;
      if (stream_step(*args.steps.steps, x, z, y, length)) {
        continue;
      }
    }
    if (args.steps.count == 0) {
      gather(x, 1, length, y);
    }
    apply_steps(args.steps, args.nest, at, row, i, length, x, y);
    write_row(args.y, y, length, target);
  }
}

} // namespace

void pointwise(const RowsArgs& args, int share, int shares) {
  const Index length = segment_of(args.columns, shares);
  const Index segments = (args.columns + length - 1) / length;
  const Index per_nest = args.rows * segments;
  const Range mine = part_of(args.nest.count * per_nest, share, shares);
  if (mine.begin >= mine.end) {
    return;
  }
  Position at = position_of(args.nest, mine.begin / per_nest);
  Index row = mine.begin % per_nest / segments;
  Index segment = mine.begin % segments;
  for (Index flat = mine.begin; flat < mine.end; ++flat) {
    const Index column = segment * length;
    pointwise_segment(args, at, row, column, least(length, args.columns - column));
    if (++segment == segments) {
      segment = 0;
      if (++row == args.rows) {
        row = 0;
        advance(args.nest, at);
      }
    }
  }
  if (args.stream) {
    fence_streams();
  }
}

namespace {

/// Rows of plain f32 on both sides, which lie apart by one step each.
class SoftmaxRows {
 public:
  SoftmaxRows(const RowsArgs& args, const Position& at, float* scratch)
      : args_(args), x_(reinterpret_cast<const float*>(element(args.x, outer_offset(args.x, args.nest, at)))),
        y_(reinterpret_cast<float*>(element_to_write(args.y, outer_offset(args.y, args.nest, at)))), scratch_(scratch) {
  }

  void run(Range rows) {
    SoftmaxRow row{};
    row.top = max_of_row(x_ + rows.begin * args_.x.row, args_.columns);
    for (Index r = rows.begin; r < rows.end; ++r) {
      row.x = x_ + r * args_.x.row;
      row.next = r + 1 < rows.end ? row.x + args_.x.row : nullptr;
      row.ahead = row.x + kRowsAhead * args_.x.row;
      float* y = y_ + r * args_.y.row;
      const Index first = r - r % group();
      if (args_.stage_rows == 0) {
        softmax_row(row, args_.stream ? scratch_ : y, y, args_.columns);
      } else if (first < rows.begin || first + group() > rows.end) {
        softmax_row(row, y, y, args_.columns);
      } else {
        float* staged = scratch_ + (r - first) * args_.columns;
        softmax_row(row, staged, staged, args_.columns);
        if (r + 1 == first + group()) {
          map_row_stream(scratch_, y_ + first * args_.y.row, group() * args_.columns,
                         [](auto v) ATTNPROF_INLINE_LAMBDA { return v; });
        }
      }
    }
  }

 private:
  static constexpr Index kRowsAhead = 4;
  Index group() const { return most(args_.stage_rows, 1); }

  const RowsArgs& args_;
  const float* x_;
  float* y_;
  float* scratch_;
};

} // namespace

void softmax(const RowsArgs& args, int share, int shares) {
  float* scratch = scratch_of(args, share);
  if (is_plain(args.x) && is_plain(args.y)) {
    const Range mine = part_of(args.nest.count * args.rows, share, shares);
    for (Index flat = mine.begin; flat < mine.end;) {
      const Index row = flat % args.rows;
      const Index count = least(args.rows - row, mine.end - flat);
      SoftmaxRows(args, position_of(args.nest, flat / args.rows), scratch).run({row, row + count});
      flat += count;
    }
  } else {
    for_rows(args, share, shares, [&](const Position& at, Index r) {
      std::byte* target = element_to_write(args.y, outer_offset(args.y, args.nest, at) + r * args.y.row);
      float* y = row_to_write(args.y, target, scratch);
      // Reading into y is safe: a row is read whole before it is written.
      const float* x =
          read_row(args.x, element(args.x, outer_offset(args.x, args.nest, at) + r * args.x.row), args.columns, y);
      SoftmaxRow row{x, nullptr, x, max_of_row(x, args.columns)};
      softmax_row(row, y, y, args.columns);
      write_row(args.y, y, args.columns, target);
    });
  }
  if (args.stream) {
    fence_streams();
  }
}

void layernorm(const RowsArgs& args, int share, int shares) {
  float* scratch = scratch_of(args, share);
  // Scratch: gamma, beta, row.
  const Index step = rounded_up(args.columns, 16);
  const float* gamma = read_row(args.gamma, args.gamma.address, args.columns, scratch);
  const float* beta =
      args.beta.address == nullptr ? nullptr : read_row(args.beta, args.beta.address, args.columns, scratch + step);
  for_rows(args, share, shares, [&](const Position& at, Index row) {
    std::byte* target = element_to_write(args.y, outer_offset(args.y, args.nest, at) + row * args.y.row);
    float* y = row_to_write(args.y, target, scratch + 2 * step);
    const float* x =
        read_row(args.x, element(args.x, outer_offset(args.x, args.nest, at) + row * args.x.row), args.columns, y);
    norm_row(x, y, args.columns, gamma, beta, args.eps, args.stream);
    write_row(args.y, y, args.columns, target);
  });
  if (args.stream) {
    fence_streams();
  }
}

void rope(const RowsArgs& args, int share, int shares) {
  float* scratch = scratch_of(args, share);
  // Scratch: table row, row.
  const Index step = rounded_up(args.columns, 16);
  for_rows(args, share, shares, [&](const Position& at, Index row) {
    const float* table = read_row(args.table, element(args.table, row * args.table.row), args.columns, scratch);
    std::byte* target = element_to_write(args.y, outer_offset(args.y, args.nest, at) + row * args.y.row);
    float* y = row_to_write(args.y, target, scratch + step);
    const float* x =
        read_row(args.x, element(args.x, outer_offset(args.x, args.nest, at) + row * args.x.row), args.columns, y);
    rope_row(x, y, args.columns, table);
    write_row(args.y, y, args.columns, target);
  });
}

void map_exp(const float* x, float* y, Index n) {
  map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return exp(v); });
}
void map_exp_nonpositive(const float* x, float* y, Index n) {
  map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return exp_nonpositive(v); });
}
void map_exp2_nonpositive(const float* x, float* y, Index n) {
  map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return exp2_nonpositive(v); });
}
void map_erf(const float* x, float* y, Index n) {
  map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return erf(v); });
}
void map_sigmoid(const float* x, float* y, Index n) {
  map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return sigmoid(v); });
}
void map_tanh(const float* x, float* y, Index n) {
  map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return tanh(v); });
}
void map_silu(const float* x, float* y, Index n) {
  map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return silu(v); });
}
void map_gelu(const float* x, float* y, Index n) {
  map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return gelu(v); });
}

} // namespace attnprof::operators::ATTNPROF_ISA
