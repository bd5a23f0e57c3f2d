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

float max_of_row(const float* x, Index n) {
  Vec a = broadcast(-__builtin_inff());
  Vec b = a;
  Index i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    a = max(load(x + i), a);
    b = max(load(x + i + kLanes), b);
  }
  for (; i < n; i += kLanes) {
    a = max(keep_first(load_upto(x + i, n - i), n - i, a), a);
  }
  return max_of(max(a, b));
}

/// y = exp(x - shift); returns the sum.
float exp_row(const float* x, float* y, Index n, float shift) {
  Vec a = zero();
  Vec b = zero();
  Index i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const Vec e = exp_nonpositive(load(x + i) - shift);
    const Vec f = exp_nonpositive(load(x + i + kLanes) - shift);
    store(y + i, e);
    store(y + i + kLanes, f);
    a += e;
    b += f;
  }
  for (; i < n; i += kLanes) {
    const Vec e = keep_first(exp_nonpositive(load_upto(x + i, n - i) - shift), n - i, zero());
    store_upto(y + i, e, n - i);
    a += e;
  }
  return sum_of(a + b);
}

void softmax_row(const float* x, float* y, Index n) {
  const float top = max_of_row(x, n);
  if (top == -__builtin_inff()) { // nothing attended: zeros, where the formula has 0 / 0 (a row of NaN has a NaN below)
    bool any_nan = false;
    for (Index i = 0; i < n; ++i) {
      any_nan |= x[i] != x[i];
    }
    map_row(x, y, n, [&](Vec) { return broadcast(any_nan ? __builtin_nanf("") : 0.0F); });
    return;
  }
  const float sum = exp_row(x, y, n, top);
  const Vec factor = broadcast(1.0F / sum);
  map_row(y, y, n, [&](Vec v) { return v * factor; });
}

float sum_of_row(const float* x, Index n) {
  Vec a = zero();
  Vec b = zero();
  Index i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    a += load(x + i);
    b += load(x + i + kLanes);
  }
  for (; i < n; i += kLanes) {
    a += load_upto(x + i, n - i);
  }
  return sum_of(a + b);
}

float squares_of_row(const float* x, Index n, float mean) {
  Vec a = zero();
  Vec b = zero();
  Index i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const Vec u = load(x + i) - mean;
    const Vec v = load(x + i + kLanes) - mean;
    a = fma(u, u, a);
    b = fma(v, v, b);
  }
  for (; i < n; i += kLanes) {
    const Vec u = keep_first(load_upto(x + i, n - i) - mean, n - i, zero());
    a = fma(u, u, a);
  }
  return sum_of(a + b);
}

void norm_row(const float* x, float* y, Index n, const float* gamma, const float* beta, float eps) {
  const auto count = static_cast<float>(n);
  const float mean = beta == nullptr ? 0.0F : sum_of_row(x, n) / count;
  const Vec scale = broadcast(1.0F / __builtin_sqrtf(squares_of_row(x, n, mean) / count + eps));
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Vec v = (load(x + i) - mean) * scale * load(gamma + i);
    store(y + i, beta == nullptr ? v : v + load(beta + i));
  }
  if (i < n) {
    const Vec v = (load_first(x + i, n - i) - mean) * scale * load_first(gamma + i, n - i);
    store_first(y + i, beta == nullptr ? v : v + load_first(beta + i, n - i), n - i);
  }
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

/// Columns of one work item of an element-wise op: long rows are cut so that all shares get some.
constexpr Index kSegment = 4 * kBlock;

void stream_row(const float* x, const float* z, float* y, Index n, bool multiply) {
  Index i = 0;
  for (; i < n && reinterpret_cast<std::uintptr_t>(y + i) % sizeof(Vec) != 0; ++i) {
    y[i] = multiply ? x[i] * z[i] : x[i] + z[i];
  }
  for (; i + kLanes <= n; i += kLanes) {
    const Vec a = load(x + i);
    const Vec b = load(z + i);
    store_stream(y + i, multiply ? a * b : a + b);
  }
  for (; i < n; ++i) {
    y[i] = multiply ? x[i] * z[i] : x[i] + z[i];
  }
}

void pointwise_segment(const RowsArgs& args, const Position& at, Index row, Index column, Index n) {
  alignas(64) float x_block[kBlock];
  alignas(64) float y_block[kBlock];
  const Index x_at = outer_offset(args.x, args.nest, at) + row * args.x.row;
  const Index y_at = outer_offset(args.y, args.nest, at) + row * args.y.row;
  for (Index i = column; i < column + n; i += kBlock) {
    const Index length = least(kBlock, column + n - i);
    const float* x = read_row(args.x, element(args.x, x_at + i * args.x.column), length, x_block);
    std::byte* target = element_to_write(args.y, y_at + i * args.y.column);
    float* y = row_to_write(args.y, target, y_block);
    const StepArgs* first = args.steps.steps;
    if (args.stream && args.steps.count == 1 && is_plain(args.y) && is_plain(first->operand) &&
        first->operand.address != nullptr) {
      const Operand& o = first->operand;
      const Index z_at = outer_offset(o, args.nest, at) + row * o.row + i;
      stream_row(x, reinterpret_cast<const float*>(element(o, z_at)), y, length, first->fn == StepFn::kMul);
      continue;
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
  const Index segments = (args.columns + kSegment - 1) / kSegment;
  const Index per_nest = args.rows * segments;
  const Range mine = part_of(args.nest.count * per_nest, share, shares);
  if (mine.begin >= mine.end) {
    return;
  }
  Position at = position_of(args.nest, mine.begin / per_nest);
  Index row = mine.begin % per_nest / segments;
  Index segment = mine.begin % segments;
  for (Index flat = mine.begin; flat < mine.end; ++flat) {
    const Index column = segment * kSegment;
    pointwise_segment(args, at, row, column, least(kSegment, args.columns - column));
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

void softmax(const RowsArgs& args, int share, int shares) {
  float* scratch = scratch_of(args, share);
  for_rows(args, share, shares, [&](const Position& at, Index row) {
    std::byte* target = element_to_write(args.y, outer_offset(args.y, args.nest, at) + row * args.y.row);
    float* y = row_to_write(args.y, target, scratch);
    // Reading into y is safe: a row is read whole before it is written.
    const float* x =
        read_row(args.x, element(args.x, outer_offset(args.x, args.nest, at) + row * args.x.row), args.columns, y);
    softmax_row(x, y, args.columns);
    write_row(args.y, y, args.columns, target);
  });
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
    norm_row(x, y, args.columns, gamma, beta, args.eps);
    write_row(args.y, y, args.columns, target);
  });
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
  map_row(x, y, n, [](Vec v) { return exp(v); });
}
void map_exp_nonpositive(const float* x, float* y, Index n) {
  map_row(x, y, n, [](Vec v) { return exp_nonpositive(v); });
}
void map_erf(const float* x, float* y, Index n) {
  map_row(x, y, n, [](Vec v) { return erf(v); });
}
void map_sigmoid(const float* x, float* y, Index n) {
  map_row(x, y, n, [](Vec v) { return sigmoid(v); });
}
void map_tanh(const float* x, float* y, Index n) {
  map_row(x, y, n, [](Vec v) { return tanh(v); });
}

} // namespace attnprof::operators::ATTNPROF_ISA
