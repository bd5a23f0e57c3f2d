#include "operators/core/fuse_copies.hpp"

#include "operators/core/uses.hpp"

#include <algorithm>
#include <map>

namespace attnprof::operators {
namespace {

struct Axis {
  std::int64_t from_stride, dim, to_stride, position;
};

/// Axes of the correspondence by falling stride in `from`, without those of size one.
std::vector<Axis> axes_of(const View& from, const View& to) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    if (from.dims[i] != 1) {
      axes.push_back({from.strides[i], from.dims[i], to.strides[i], 0});
    }
  }
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.from_stride > b.from_stride; });
  return axes;
}

/// Stride in `to` of a dimension (stride, size) of a view of `from`: it may lie inside one axis or span several that
/// are also adjacent in `to`.
std::optional<std::int64_t> stride_in(const std::vector<Axis>& axes, std::int64_t stride, std::int64_t size) {
  std::optional<std::int64_t> first;
  std::int64_t expected = 0;
  for (std::size_t i = axes.size(); i-- > 0 && size > 1;) {
    const Axis& axis = axes[i];
    if (stride >= axis.from_stride * axis.dim) {
      continue;
    }
    if (stride < axis.from_stride || stride % axis.from_stride != 0) {
      return std::nullopt;
    }
    const std::int64_t step = stride / axis.from_stride;
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

std::optional<View> remap(const View& view, const View& from, const View& to) {
  std::vector<Axis> axes = axes_of(from, to);
  View out{to.tensor, to.offset, view.dims, view.strides};
  std::int64_t rest = view.offset - from.offset;
  for (Axis& axis : axes) {
    axis.position = rest / axis.from_stride;
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

namespace {

/// Ops that take any strides on every operand; the others keep their dense inputs and the copy stays.
bool takes_strides(const Primitive& primitive) {
  return std::visit(Overloaded{[](const DepthwiseConv2d&) { return false; }, [](const Conv2d&) { return false; },
                               [](const Pool&) { return false; }, [](const auto&) { return true; }},
                    primitive);
}

/// Rewrites every operand of `primitive` on the tensor `from.tensor`; false, and nothing changed, where one cannot be.
bool redirect(Primitive& primitive, const View& from, const View& to) {
  Primitive changed = primitive;
  bool done = true;
  for_each_operand(changed, [&](View& view) {
    if (view.tensor == from.tensor) {
      const std::optional<View> mapped = remap(view, from, to);
      done = done && mapped.has_value();
      view = mapped.value_or(view);
    }
  });
  if (done) {
    primitive = std::move(changed);
  }
  return done;
}

bool covers(const Graph& graph, const View& view) {
  const View dense = dense_view(view.tensor, graph.tensor(view.tensor).dims);
  return view.distinct_elements() == dense.elements() && view.elements() == dense.elements();
}

bool readers_take_source(Graph& graph, const Uses& uses, const Copy& copy) {
  if (graph.tensor(copy.y.tensor).role != TensorRole::kIntermediate) {
    return false; // an output must exist, whoever reads it
  }
  const auto& readers = uses.readers[static_cast<std::size_t>(copy.y.tensor)];
  std::vector<Primitive> changed;
  for (const std::size_t i : readers) {
    changed.push_back(graph.ops[i].primitive);
    if (!takes_strides(changed.back()) || !redirect(changed.back(), copy.y, copy.x)) {
      return false;
    }
  }
  for (std::size_t k = 0; k < readers.size(); ++k) {
    // A reader of several views of the copy stands several times; its first rewrite did them all.
    if (k == 0 || readers[k] != readers[k - 1]) {
      graph.ops[readers[k]].primitive = std::move(changed[k]);
    }
  }
  return true;
}

/// The writer of the source writes to where the copy would put it, and other readers of the source read there.
bool writer_takes_target(Graph& graph, const Uses& uses, const Copy& copy) {
  const auto& writers = uses.writers[static_cast<std::size_t>(copy.x.tensor)];
  if (graph.tensor(copy.x.tensor).role != TensorRole::kIntermediate || writers.size() != 1 || !covers(graph, copy.x)) {
    return false;
  }
  const Primitive& writer = graph.ops[writers.front()].primitive;
  if (!std::holds_alternative<MatMul>(writer) && !std::holds_alternative<Attention>(writer)) {
    return false;
  }
  std::map<std::size_t, Primitive> changed{{writers.front(), writer}};
  for (const std::size_t i : uses.readers[static_cast<std::size_t>(copy.x.tensor)]) {
    const auto* same = std::get_if<Copy>(&graph.ops[i].primitive);
    const bool is_this_copy = same != nullptr && same->x == copy.x && same->y == copy.y;
    if (!is_this_copy) {
      changed.emplace(i, graph.ops[i].primitive);
    }
  }
  for (auto& [i, primitive] : changed) {
    if (!takes_strides(primitive) || !redirect(primitive, copy.x, copy.y)) {
      return false;
    }
  }
  for (auto& [i, primitive] : changed) {
    graph.ops[i].primitive = std::move(primitive);
  }
  return true;
}

} // namespace

void fuse_layout_copies(Graph& graph) {
  Uses uses = uses_of(graph);
  std::vector<bool> erased(graph.ops.size(), false);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const auto* copy = std::get_if<Copy>(&graph.ops[i].primitive);
    if (copy == nullptr || !copy->layout) {
      continue;
    }
    const Copy kept = *copy;
    if ((covers(graph, kept.y) && readers_take_source(graph, uses, kept)) || writer_takes_target(graph, uses, kept)) {
      erased[i] = true;
      refresh_uses(uses, graph, {kept.x.tensor, kept.y.tensor}, erased);
    }
  }
  erase_ops(graph, erased);
}

} // namespace attnprof::operators
