#include "operators/core/fuse_steps.hpp"

#include "operators/core/uses.hpp"

#include <algorithm>
#include <utility>

namespace attnprof::operators {
namespace {

/// The steps that an op applies to its result, and where it writes; null where it takes none.
struct Tail {
  Steps* steps = nullptr;
  View* y = nullptr;
};
Tail tail_of(Primitive& primitive) {
  return std::visit(Overloaded{[](MatMul& op) {
                                 return Tail{&op.epilogue, &op.c};
                               },
                               [](Conv2d& op) {
                                 return Tail{&op.epilogue, &op.y};
                               },
                               [](DepthwiseConv2d& op) {
                                 return Tail{&op.epilogue, &op.y};
                               },
                               [](Pointwise& op) {
                                 return Tail{&op.steps, &op.y};
                               },
                               [](auto&) { return Tail{}; }},
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

/// Gives every operand of an element-wise op the dimensions `dims`; false, and nothing changed, where one refuses.
bool reshape(Pointwise& op, const Extents& dims) {
  bool possible = true;
  const auto check = [&](const View& view) { possible = possible && reshaped(view, dims).has_value(); };
  visit_operands(std::as_const(op), check, check);
  if (possible) {
    const auto change = [&](View& view) { view = *reshaped(view, dims); };
    visit_operands(op, change, change);
  }
  return possible;
}

/// The op that alone writes exactly these elements, if this reader is the only one.
std::optional<std::size_t> producer(Graph& graph, const Uses& uses, const View& view) {
  const auto id = static_cast<std::size_t>(view.tensor);
  if (graph.tensor(view.tensor).role != TensorRole::kIntermediate || uses.writers[id].size() != 1 ||
      uses.readers[id].size() != 1) {
    return std::nullopt;
  }
  const std::size_t writer = uses.writers[id].front();
  const Tail tail = tail_of(graph.ops[writer].primitive);
  return tail.steps != nullptr && reshaped(*tail.y, view.dims) == view ? std::optional(writer) : std::nullopt;
}

/// x + operand and x * operand commute: lets the later of the two producers take the step.
void swap_operands(Pointwise& op) {
  Step& step = op.steps.front();
  std::swap(op.x, *step.operand);
}

/// The op that an element-wise op was merged with, which is to be erased, and what lay between them.
struct Merged {
  std::size_t from = 0;
  TensorId between = -1;
};

/// Merges an element-wise op into the op that makes its input.
std::optional<Merged> fuse_one(Graph& graph, const Uses& uses, std::size_t index) {
  auto* op = std::get_if<Pointwise>(&graph.ops[index].primitive);
  if (op == nullptr) {
    return std::nullopt;
  }
  std::optional<std::size_t> from = producer(graph, uses, op->x);
  const Step& first = op->steps.front();
  if (first.operand && (first.fn == StepFn::kAdd || first.fn == StepFn::kMul)) {
    const std::optional<std::size_t> other = producer(graph, uses, *first.operand);
    if (other && (!from || *other > *from)) {
      swap_operands(*op);
      from = other;
    }
  }
  if (!from) {
    return std::nullopt;
  }
  Op& front = graph.ops[*from];
  const Tail tail = tail_of(front.primitive);
  if (!reshape(*op, tail.y->dims)) {
    return std::nullopt;
  }
  const TensorId between = tail.y->tensor;
  tail.steps->insert(tail.steps->end(), op->steps.begin(), op->steps.end());
  *tail.y = op->y;
  // The merged launch takes the place of the later op: its operands are ready there.
  graph.ops[index] = std::move(front);
  return Merged{*from, between};
}

} // namespace

void fuse_steps(Graph& graph) {
  Uses uses = uses_of(graph);
  std::vector<bool> erased(graph.ops.size(), false);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const std::optional<Merged> merged = fuse_one(graph, uses, i);
    if (!merged) {
      continue;
    }
    erased[merged->from] = true;
    TensorIds tensors = tensors_of(graph.ops[i].primitive);
    tensors.push_back(merged->between);
    // The merged op stands at i, where the tensors of its former place do not know it.
    for (const TensorId id : tensors) {
      uses.readers[static_cast<std::size_t>(id)].push_back(i);
    }
    refresh_uses(uses, graph, tensors, erased);
  }
  erase_ops(graph, erased);
}

} // namespace attnprof::operators
