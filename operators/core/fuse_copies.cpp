#include "operators/core/fuse_copies.hpp"

#include <algorithm>
#include <array>

namespace attnprof::operators {
namespace {

struct Axis {
  std::int64_t from_stride, dim, to_stride, position;
};

/// Axes of a correspondence by falling stride in `from`, without those of size one.
struct Axes {
  std::array<Axis, Extents::kMaxRank> list;
  std::size_t size = 0;
  const Axis& operator[](std::size_t i) const { return list[i]; }
};

/// By insertion: there are four of them or five.
Axes axes_of(const View& from, const View& to) {
  Axes axes;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    if (from.dims[i] != 1) {
      std::size_t at = axes.size++;
      for (; at > 0 && axes.list[at - 1].from_stride < from.strides[i]; --at) {
        axes.list[at] = axes.list[at - 1];
      }
      axes.list[at] = {from.strides[i], from.dims[i], to.strides[i], 0};
    }
  }
  return axes;
}

/// Stride in `to` of a dimension (stride, size) of a view of `from`: it may lie inside one axis or span several that
/// are also adjacent in `to`.
std::optional<std::int64_t> stride_in(const Axes& axes, std::int64_t stride, std::int64_t size) {
  std::optional<std::int64_t> first;
  std::int64_t expected = 0;
  for (std::size_t i = axes.size; i-- > 0 && size > 1;) {
    const Axis& axis = axes[i];
    if (stride >= axis.from_stride * axis.dim) {
      continue;
    }
    // Nearly always the same, and a division takes longer than all the rest.
    const std::int64_t step = stride == axis.from_stride ? 1 : stride / axis.from_stride;
    if (step * axis.from_stride != stride) {
      return std::nullopt;
    }
    const std::int64_t here = step * axis.to_stride;
    if (first && here != expected) {
      return std::nullopt;
    }
    first = first ? first : here;
    if (axis.position + step * (size - 1) < axis.dim) {
      return first;
    }
    if (axis.position != 0 || axis.dim % step != 0 || size % (axis.dim / step) != 0) {
      return std::nullopt;
    }
    size /= axis.dim / step;
    stride = axis.from_stride * axis.dim;
    expected = axis.to_stride * axis.dim;
  }
  return size == 1 ? first : std::nullopt;
}

} // namespace

namespace {

std::optional<View> remap(const View& view, const View& from, const View& to, Axes& axes) {
  View out{to.tensor, to.offset, view.dims, view.strides};
  std::int64_t rest = view.offset - from.offset;
  for (std::size_t i = 0; i < axes.size; ++i) {
    Axis& axis = axes.list[i];
    axis.position = rest == 0 ? 0 : rest / axis.from_stride;
    rest -= axis.position * axis.from_stride;
    out.offset += axis.position * axis.to_stride;
    if (axis.position < 0 || axis.position >= axis.dim) {
      return std::nullopt;
    }
  }
  if (rest != 0) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < view.rank(); ++i) {
    if (view.dims[i] == 1 || view.strides[i] == 0) {
      out.strides[i] = 0;
      continue;
    }
    const std::optional<std::int64_t> stride = stride_in(axes, view.strides[i], view.dims[i]);
    if (!stride) {
      return std::nullopt;
    }
    out.strides[i] = *stride;
  }
  return out;
}

} // namespace

std::optional<View> remap(const View& view, const View& from, const View& to) {
  Axes axes = axes_of(from, to);
  return remap(view, from, to, axes);
}

namespace {

/// Ops that take any strides on every operand; the others keep their dense inputs and the copy stays.
bool takes_strides(const Primitive& primitive) {
  return std::visit(Overloaded{[](const DepthwiseConv2d&) { return false; }, [](const Conv2d&) { return false; },
                               [](const Pool&) { return false; }, [](const auto&) { return true; }},
                    primitive);
}

/// New operands of several ops, found for all of them before any is changed.
class Redirection {
 public:
  Redirection(const View& from, const View& to) : from_(from), to_(to), axes_(axes_of(from, to)) {}

  /// False where an operand on the tensor of `from` has no counterpart in `to`.
  bool plan(const Primitive& primitive) {
    bool possible = takes_strides(primitive);
    const auto check = [&](const View& view) {
      if (possible && view.tensor == from_.tensor) {
        const std::optional<View> mapped = remap(view, from_, to_, axes_);
        possible = mapped.has_value();
        if (possible) {
          views_.push_back(*mapped);
        }
      }
    };
    std::visit([&](const auto& op) { visit_operands(op, check, check); }, primitive);
    return possible;
  }
  /// In the order of plan().
  void apply(Primitive& primitive) {
    const auto change = [&](View& view) {
      if (view.tensor == from_.tensor) {
        view = views_[next_++];
      }
    };
    std::visit([&](auto& op) { visit_operands(op, change, change); }, primitive);
  }

 private:
  const View& from_;
  const View& to_;
  Axes axes_;
  InlineList<View, 2> views_;
  std::size_t next_ = 0;
};

/// Rewrites all of these ops or, where one cannot be, none.
bool redirect(Rewriting& ops, const OpIndices& changed, const View& from, const View& to) {
  Redirection redirection(from, to);
  for (const std::size_t i : changed) {
    if (!redirection.plan(ops.op(i).primitive)) {
      return false;
    }
  }
  for (const std::size_t i : changed) {
    ops.rewrite(i, [&](Op& op) { redirection.apply(op.primitive); });
  }
  return true;
}

bool covers(const Graph& graph, const View& view) {
  const Count all = graph.tensor(view.tensor).elements();
  return view.distinct_elements() == all && view.elements() == all;
}

bool readers_take_source(Rewriting& ops, const Copy& copy) {
  if (ops.graph().tensor(copy.y.tensor).role != TensorRole::kIntermediate) {
    return false; // an output must exist, whoever reads it
  }
  OpIndices readers;
  for (const std::size_t i : ops.uses().readers(copy.y.tensor)) {
    if (!contains(readers, i)) { // a reader of several views of the copy stands several times
      readers.push_back(i);
    }
  }
  return redirect(ops, readers, copy.y, copy.x);
}

/// The writer of the source writes to where the copy would put it, and other readers of the source read there.
bool writer_takes_target(Rewriting& ops, std::size_t index, const Copy& copy) {
  const OpIndices& writers = ops.uses().writers(copy.x.tensor);
  if (ops.graph().tensor(copy.x.tensor).role != TensorRole::kIntermediate || writers.size() != 1 ||
      !covers(ops.graph(), copy.x)) {
    return false;
  }
  const Primitive& writer = ops.op(writers.front()).primitive;
  if (!std::holds_alternative<MatMul>(writer) && !std::holds_alternative<Attention>(writer)) {
    return false;
  }
  OpIndices changed;
  changed.push_back(writers.front());
  for (const std::size_t i : ops.uses().readers(copy.x.tensor)) {
    if (i != index && !contains(changed, i)) {
      changed.push_back(i);
    }
  }
  return redirect(ops, changed, copy.x, copy.y);
}

} // namespace

void fuse_layout_copies(Rewriting& ops) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto* copy = std::get_if<Copy>(&ops.op(i).primitive);
    if (copy == nullptr || !copy->layout) {
      continue;
    }
    if ((covers(ops.graph(), copy->y) && readers_take_source(ops, *copy)) || writer_takes_target(ops, i, *copy)) {
      ops.erase(i);
    }
  }
}

} // namespace attnprof::operators
