#include "operators/core/io.hpp"

#include <algorithm>

namespace attnprof::operators {
namespace {

void read_steps(const Steps& steps, Io& io) {
  for (const Step& step : steps) {
    if (step.operand) {
      io.reads.push_back(*step.operand);
    }
  }
}

Io io(const MatMul& op) {
  Io out{{op.a, op.b}, {op.c}};
  read_steps(op.epilogue, out);
  return out;
}
Io io(const Softmax& op) { return {{op.x}, {op.y}}; }
Io io(const Attention& op) {
  Io out{{op.q, op.k, op.v}, {op.y}};
  if (op.bias) {
    out.reads.push_back(*op.bias);
  }
  return out;
}
Io io(const Pointwise& op) {
  Io out{{op.x}, {op.y}};
  read_steps(op.steps, out);
  return out;
}
Io io(const LayerNorm& op) {
  Io out{{op.x, op.gamma}, {op.y}};
  if (op.beta) {
    out.reads.push_back(*op.beta);
  }
  return out;
}
Io io(const DepthwiseConv2d& op) {
  Io out{{op.x, op.w}, {op.y}};
  read_steps(op.epilogue, out);
  return out;
}
Io io(const Copy& op) { return {{op.x}, {op.y}}; }
Io io(const Rope& op) { return {{op.x, op.table}, {op.y}}; }

/// The same elements under another shape: broadcast dimensions and size-1 dimensions dropped, sorted by stride.
View canonical(const View& view) {
  View out{view.tensor, view.offset, {}, {}};
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;
  for (std::size_t i = 0; i < view.rank(); ++i) {
    if (view.dims[i] != 1 && view.strides[i] != 0) {
      axes.emplace_back(view.strides[i], view.dims[i]);
    }
  }
  std::sort(axes.rbegin(), axes.rend());
  for (const auto& [stride, dim] : axes) {
    const std::size_t last = out.rank();
    if (last > 0 && out.strides[last - 1] == stride * dim) {
      out.dims[last - 1] *= dim;
      out.strides[last - 1] = stride;
    } else {
      out.dims.push_back(dim);
      out.strides.push_back(stride);
    }
  }
  return out;
}

void add_distinct(std::vector<View>& views, const View& view) {
  View key = canonical(view);
  if (std::find(views.begin(), views.end(), key) == views.end()) {
    views.push_back(std::move(key));
  }
}

Count total_bytes(const Graph& graph, const std::vector<View>& views) {
  Count out = 0;
  for (const View& view : views) {
    out += view.distinct_elements() * size_bytes(graph.tensor(view.tensor).dtype);
  }
  return out;
}

} // namespace

Io io_of(const Primitive& primitive) {
  return std::visit([](const auto& op) { return io(op); }, primitive);
}

Bytes bytes_of(const Graph& graph, const Op& op) {
  const Io operands = io_of(op.primitive);
  std::vector<View> reads;
  std::vector<View> writes;
  for (const View& view : operands.reads) {
    add_distinct(reads, view);
  }
  for (const View& view : operands.writes) {
    add_distinct(writes, view);
  }
  std::vector<View> all = reads;
  for (const View& view : writes) {
    add_distinct(all, view);
  }
  return {total_bytes(graph, reads), total_bytes(graph, writes), total_bytes(graph, all)};
}

} // namespace attnprof::operators
