#include "operators/kernels/cpu/isa/rows.hpp"

namespace attnprof::operators::ATTNPROF_ISA {
namespace {

/// Entries [begin, end) of the row that starts at `column` are kept, the others become `value`.
ATTNPROF_INLINE void fill_mask(const float* x, float* y, Index n, Index column, RowRange keep, float value) {
  const Index begin = least(most(keep.begin - column, 0), n);
  const Index end = least(most(keep.end - column, begin), n);
  for (Index i = 0; i < begin; ++i) {
    y[i] = value;
  }
  if (x != y) {
    gather(x + begin, 1, end - begin, y + begin);
  }
  for (Index i = end; i < n; ++i) {
    y[i] = value;
  }
}

/// One step on n elements, at most kBlock where the operand is not plain. `operand` is the step's first operand element
/// of this row segment.
void apply_step(const StepArgs& step, const float* x, float* y, Index n, const std::byte* operand, Index row,
                Index column) {
  alignas(64) float scratch[kBlock];
  switch (step.fn) {
  case StepFn::kScale: map_row(x, y, n, [&](auto v) ATTNPROF_INLINE_LAMBDA { return v * step.value; }); break;
  case StepFn::kAdd: {
    const float* z = read_row(step.operand, operand, n, scratch);
    map_rows(x, z, y, n, [](auto a, auto b) ATTNPROF_INLINE_LAMBDA { return a + b; });
    break;
  }
  case StepFn::kMul: {
    const float* z = read_row(step.operand, operand, n, scratch);
    map_rows(x, z, y, n, [](auto a, auto b) ATTNPROF_INLINE_LAMBDA { return a * b; });
    break;
  }
  // max returns its second operand where one is NaN, so NaN passes.
  case StepFn::kRelu: map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return max(0.0F, v); }); break;
  case StepFn::kGelu: map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return gelu(v); }); break;
  case StepFn::kSilu: map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return silu(v); }); break;
  case StepFn::kSigmoid: map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return sigmoid(v); }); break;
  case StepFn::kMaskFill: fill_mask(x, y, n, column, step.ranges[row % step.queries], -__builtin_inff()); break;
  case StepFn::kMaskZero: fill_mask(x, y, n, column, step.ranges[row % step.queries], 0.0F); break;
  case StepFn::kSquare: map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return v * v; }); break;
  case StepFn::kExp: map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return exp(v); }); break;
  case StepFn::kEluPlusOne:
    map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return exp_nonpositive(min(0.0F, v)) + max(0.0F, v); });
    break;
  case StepFn::kDivide: {
    const float* z = read_row(step.operand, operand, n, scratch);
    map_rows(x, z, y, n, [](auto a, auto b) ATTNPROF_INLINE_LAMBDA { return a / b; });
    break;
  }
  case StepFn::kTanh: map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return tanh(v); }); break;
  case StepFn::kGeluTanh: map_row(x, y, n, [](auto v) ATTNPROF_INLINE_LAMBDA { return gelu_tanh(v); }); break;
  }
}

} // namespace

void apply_steps(const StepList& list, const Nest& nest, const Position& at, Index row, Index column, Index n,
                 const float* x, float* y) {
  const Index block = block_of(list, n);
  for (Index begin = 0; begin < n; begin += block) {
    const Index length = least(block, n - begin);
    const float* source = x + begin;
    for (int s = 0; s < list.count; ++s) {
      const StepArgs& step = list.steps[s];
      const std::byte* operand = nullptr;
      if (step.operand.address != nullptr) {
        const Operand& o = step.operand;
        operand = element(o, outer_offset(o, nest, at) + row * o.row + (column + begin) * o.column);
      }
      apply_step(step, source, y + begin, length, operand, row, column + begin);
      source = y + begin;
    }
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
