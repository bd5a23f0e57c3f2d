#include "operators/core/io.hpp"

#include <algorithm>
#include <array>
#include <concepts>

namespace attnprof::operators {
namespace {

// The one list of operands per primitive: read(view) and write(view) in order.

/// `T`, const or not: what only looks at operands must not copy the op, what rewrites them needs it writable.
template <class Op, class T>
concept Is = std::same_as<std::remove_const_t<Op>, T>;

template <Is<Steps> List, class Read>
void visit_steps(List& steps, Read&& read) {
  for (auto& step : steps) {
    if (step.operand) {
      read(*step.operand);
    }
  }
}

template <Is<MatMul> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.a);
  read(op.b);
  visit_steps(op.epilogue, read);
  write(op.c);
}
template <Is<Softmax> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <Is<Attention> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.q);
  read(op.k);
  read(op.v);
  if (op.bias) {
    read(*op.bias);
  }
  write(op.y);
}
template <Is<Pointwise> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  visit_steps(op.steps, read);
  write(op.y);
}
template <Is<LayerNorm> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.gamma);
  if (op.beta) {
    read(*op.beta);
  }
  write(op.y);
}
template <Is<DepthwiseConv2d> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.w);
  visit_steps(op.epilogue, read);
  write(op.y);
}
template <Is<Conv2d> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.w);
  visit_steps(op.epilogue, read);
  write(op.y);
}
template <Is<Pool> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <Is<Reduce> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <Is<ChannelConv1d> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.w);
  write(op.y);
}
template <Is<CumSum> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <Is<Gather> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.index);
  write(op.y);
}
template <Is<Copy> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <Is<Rope> Op, class Read, class Write>
void visit_operands(Op& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.table);
  write(op.y);
}

/// Keys that at least one query tile visits: one contiguous range, since the ranges of successive rows overlap or
/// touch.
KeyRange touched_keys(const Attention& op) {
  const std::int64_t n_q = op.q.dims[3];
  const std::int64_t n_k = op.k.dims[2];
  std::optional<KeyRange> all;
  const std::int64_t last_row = (n_q - 1) / op.tiles.queries * op.tiles.queries;
  // The first tile that sees any key fixes the begin, the last tile the end.
  const std::int64_t first_seeing = op.mask.any() ? std::max<std::int64_t>(0, n_q - n_k) : 0;
  const std::int64_t first_row = std::min(first_seeing / op.tiles.queries * op.tiles.queries, last_row);
  for (const std::int64_t row : {first_row, last_row}) {
    const KeyRange keys = visited_keys(op.mask, op.tiles, row, std::min(op.tiles.queries, n_q - row), n_q, n_k);
    if (keys.begin != keys.end) {
      all = all ? KeyRange{std::min(all->begin, keys.begin), std::max(all->end, keys.end)} : keys;
    }
  }
  return all.value_or(KeyRange{});
}

/// A list that is too long to be kept names every row that it can: such are all but those of token ids, and far more
/// ids than a vocabulary has name all of it too.
std::int64_t named_rows(const Gather& op) {
  if (!op.indices) {
    return std::min(op.x.dims.back(1), op.index.dims[0]);
  }
  std::vector<bool> named(static_cast<std::size_t>(op.x.dims.back(1)), false);
  for (const float index : *op.indices) {
    if (index >= 0.0F) {
      named[static_cast<std::size_t>(index)] = true;
    }
  }
  return std::count(named.begin(), named.end(), true);
}

/// The same elements under another shape: broadcast dimensions and size-1 dimensions dropped, sorted by stride.
View canonical(const View& view) {
  View out{view.tensor, view.offset, {}, {}};
  std::array<std::pair<std::int64_t, std::int64_t>, Extents::kMaxRank> axes;
  std::size_t count = 0;
  for (std::size_t i = 0; i < view.rank(); ++i) {
    if (view.dims[i] != 1 && view.strides[i] != 0) {
      axes[count++] = {view.strides[i], view.dims[i]};
    }
  }
  std::sort(axes.begin(), axes.begin() + count, std::greater<>());
  for (std::size_t i = 0; i < count; ++i) {
    const auto [stride, dim] = axes[i];
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

/// Whether a canonical view is one run of elements that holds all of another: the latent cache, whose first channels
/// are the values too.
bool covers(const View& run, const View& other) {
  if (run.tensor != other.tensor || run.rank() != 1 || run.strides[0] != 1) {
    return false;
  }
  std::int64_t last = other.offset;
  for (std::size_t i = 0; i < other.rank(); ++i) {
    last += (other.dims[i] - 1) * other.strides[i];
  }
  return other.offset >= run.offset && last < run.offset + run.dims[0];
}

void add_distinct(std::vector<View>& views, const View& view) {
  View key = canonical(view);
  const auto holds = [&](const View& other) { return other == key || covers(other, key); };
  if (std::any_of(views.begin(), views.end(), holds)) {
    return;
  }
  std::erase_if(views, [&](const View& other) { return covers(key, other); });
  views.push_back(std::move(key));
}

Count total_bytes(const Graph& graph, const std::vector<View>& views) {
  Count out = 0;
  for (const View& view : views) {
    out += view.distinct_elements() * size_bytes(graph.tensor(view.tensor).dtype);
  }
  return out;
}

} // namespace

namespace {

template <class Op>
Io operands_of(const Op& op) {
  Io io;
  io.reads.reserve(4);
  io.writes.reserve(1);
  visit_operands(
      op, [&](const View& view) { io.reads.push_back(view); }, [&](const View& view) { io.writes.push_back(view); });
  return io;
}

// Ops that read only a part of what they are given.
Io operands_of(Attention op) {
  const KeyRange keys = touched_keys(op);
  op.k = op.k.slice(2, keys.begin, keys.end - keys.begin);
  op.v = op.v.slice(2, keys.begin, keys.end - keys.begin);
  if (op.bias) {
    op.bias = op.bias->slice(4, keys.begin, keys.end - keys.begin);
  }
  return operands_of<Attention>(op);
}
Io operands_of(CumSum op) { // the last row is in no exclusive prefix
  const std::size_t rows = op.x.rank() - 2;
  op.x = op.x.slice(rows, 0, op.x.dims[rows] - 1);
  return operands_of<CumSum>(op);
}
Io operands_of(Gather op) { // only rows that an index names; which ones does not change the bytes
  op.x = op.x.slice(op.x.rank() - 2, 0, named_rows(op));
  return operands_of<Gather>(op);
}

} // namespace

Io io_of(const Primitive& primitive) {
  return std::visit([](const auto& op) { return operands_of(op); }, primitive);
}

void for_each_operand(Primitive& primitive, const std::function<void(View&)>& visit) {
  std::visit([&](auto& typed) { visit_operands(typed, visit, visit); }, primitive);
}

Bytes bytes_of(const Graph& graph, const Op& op) {
  return bytes_of(graph, io_of(op.primitive));
}

Bytes bytes_of(const Graph& graph, const Io& operands) {
  std::vector<View> views;
  views.reserve(operands.reads.size() + operands.writes.size());
  for (const View& view : operands.reads) {
    add_distinct(views, view);
  }
  Bytes out;
  for (const View& view : views) {
    const Tensor& tensor = graph.tensor(view.tensor);
    const Count bytes = view.distinct_elements() * size_bytes(tensor.dtype);
    out.read += bytes;
    if (tensor.role == TensorRole::kWeight || tensor.role == TensorRole::kConstant) {
      out.weights_read += bytes;
    } else if (tensor.role == TensorRole::kCache) {
      out.cache_read += bytes;
    }
  }
  std::vector<View> writes;
  writes.reserve(operands.writes.size());
  for (const View& view : operands.writes) {
    add_distinct(writes, view);
    add_distinct(views, view);
  }
  out.written = total_bytes(graph, writes);
  out.working_set = total_bytes(graph, views);
  return out;
}

} // namespace attnprof::operators
