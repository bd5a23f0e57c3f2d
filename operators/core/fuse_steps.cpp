#include "operators/core/fuse_steps.hpp"

#include <iterator>
#include <type_traits>
#include <utility>

namespace attnprof::operators {
namespace {

/// The steps that an op applies to its result, and where it writes; null where it takes none.
template <class StepList, class Result>
struct Tail {
  StepList* steps = nullptr;
  Result* y = nullptr;
};
template <Is<Primitive> P>
auto tail_of(P& primitive) {
  using Found = std::conditional_t<std::is_const_v<P>, Tail<const Steps, const View>, Tail<Steps, View>>;
  return std::visit(Overloaded{[](Is<MatMul> auto& op) {
                                 return Found{&op.epilogue, &op.c};
                               },
                               [](Is<Conv2d> auto& op) {
                                 return Found{&op.epilogue, &op.y};
                               },
                               [](Is<DepthwiseConv2d> auto& op) {
                                 return Found{&op.epilogue, &op.y};
                               },
                               [](Is<Pointwise> auto& op) {
                                 return Found{&op.steps, &op.y};
                               },
                               [](auto&) { return Found{}; }},
                    primitive);
}

/// The same elements in the same order under other dimensions; absent for a strided or broadcast view.
std::optional<View> reshaped(const View& view, const Extents& dims) {
  if (view.dims == dims) {
    return view;
  }
  View out = dense_view(view.tensor, dims);
  out.offset = view.offset;
  return view.contiguous() && out.elements() == view.elements() ? std::optional(out) : std::nullopt;
}

/// Whether every operand of an element-wise op can be given the dimensions `dims`.
bool can_reshape(const Pointwise& op, const Extents& dims) {
  bool possible = true;
  const auto check = [&](const View& view) {
    possible = possible && (view.dims == dims || reshaped(view, dims).has_value());
  };
  visit_operands(op, check, check);
  return possible;
}
void reshape(Pointwise& op, const Extents& dims) {
  const auto change = [&](View& view) {
    if (view.dims != dims) {
      view = *reshaped(view, dims);
    }
  };
  visit_operands(op, change, change);
}

/// The op that alone writes exactly these elements, if this reader is the only one.
std::optional<std::size_t> producer(const Rewriting& ops, const View& view) {
  const OpIndices& writers = ops.uses().writers(view.tensor);
  if (ops.graph().tensor(view.tensor).role != TensorRole::kIntermediate || writers.size() != 1 ||
      ops.uses().readers(view.tensor).size() != 1) {
    return std::nullopt;
  }
  const auto tail = tail_of(ops.op(writers.front()).primitive);
  const bool makes_view = tail.steps != nullptr && (*tail.y == view || reshaped(*tail.y, view.dims) == view);
  return makes_view ? std::optional(writers.front()) : std::nullopt;
}

/// x + operand and x * operand commute: lets the later of the two producers take the step.
void swap_operands(Pointwise& op) {
  Step& step = op.steps.front();
  std::swap(op.x, *step.operand);
}

/// Merges an element-wise op into the op that makes its input. The merged launch takes the place of the later op: its
/// operands are ready there.
void fuse_one(Rewriting& ops, std::size_t index) {
  const auto& op = std::get<Pointwise>(ops.op(index).primitive);
  std::optional<std::size_t> from = producer(ops, op.x);
  const Step& first = op.steps.front();
  if (first.operand && (first.fn == StepFn::kAdd || first.fn == StepFn::kMul)) {
    const std::optional<std::size_t> other = producer(ops, *first.operand);
    if (other && (!from || *other > *from)) {
      ops.rewrite(index, [](Op& whole) { swap_operands(std::get<Pointwise>(whole.primitive)); });
      from = other;
    }
  }
  const auto dims_of = [&](std::size_t i) -> const Extents& { return tail_of(ops.op(i).primitive).y->dims; };
  if (!from || !can_reshape(op, dims_of(*from))) {
    return;
  }
  ops.merge(*from, index, [](Op& front, Op& whole) {
    Pointwise& later = std::get<Pointwise>(whole.primitive);
    const auto tail = tail_of(front.primitive);
    reshape(later, tail.y->dims);
    tail.steps->insert(tail.steps->end(), std::make_move_iterator(later.steps.begin()),
                       std::make_move_iterator(later.steps.end()));
    *tail.y = later.y;
    whole = std::move(front);
  });
}

} // namespace

void fuse_steps(Rewriting& ops) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!ops.erased(i) && std::holds_alternative<Pointwise>(ops.op(i).primitive)) {
      fuse_one(ops, i);
    }
  }
}

} // namespace attnprof::operators
