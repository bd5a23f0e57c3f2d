#include "operators/core/io.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>

namespace attnprof::operators {
namespace {

// The one list of operands per primitive: read(view) and write(view) in order.

template <class Read>
void visit_steps(Steps& steps, Read&& read) {
  for (Step& step : steps) {
    if (step.operand) {
      read(*step.operand);
    }
  }
}

template <class Read, class Write>
void visit_operands(MatMul& op, Read&& read, Write&& write) {
  read(op.a);
  read(op.b);
  visit_steps(op.epilogue, read);
  write(op.c);
}
template <class Read, class Write>
void visit_operands(Softmax& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <class Read, class Write>
void visit_operands(Attention& op, Read&& read, Write&& write) {
  read(op.q);
  read(op.k);
  read(op.v);
  if (op.bias) {
    read(*op.bias);
  }
  write(op.y);
}
template <class Read, class Write>
void visit_operands(Pointwise& op, Read&& read, Write&& write) {
  read(op.x);
  visit_steps(op.steps, read);
  write(op.y);
}
template <class Read, class Write>
void visit_operands(LayerNorm& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.gamma);
  if (op.beta) {
    read(*op.beta);
  }
  write(op.y);
}
template <class Read, class Write>
void visit_operands(DepthwiseConv2d& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.w);
  visit_steps(op.epilogue, read);
  write(op.y);
}
template <class Read, class Write>
void visit_operands(Conv2d& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.w);
  visit_steps(op.epilogue, read);
  write(op.y);
}
template <class Read, class Write>
void visit_operands(Pool& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <class Read, class Write>
void visit_operands(Reduce& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <class Read, class Write>
void visit_operands(ChannelConv1d& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.w);
  write(op.y);
}
template <class Read, class Write>
void visit_operands(CumSum& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <class Read, class Write>
void visit_operands(Gather& op, Read&& read, Write&& write) {
  read(op.x);
  read(op.index);
  write(op.y);
}
template <class Read, class Write>
void visit_operands(Copy& op, Read&& read, Write&& write) {
  read(op.x);
  write(op.y);
}
template <class Read, class Write>
void visit_operands(Rope& op, Read&& read, Write&& write) {
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

std::int64_t named_rows(const Gather& op) {
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

Io io_of(const Primitive& primitive) {
  Primitive op = primitive;
  if (auto* attention = std::get_if<Attention>(&op)) {
    const KeyRange keys = touched_keys(*attention);
    attention->k = attention->k.slice(2, keys.begin, keys.end - keys.begin);
    attention->v = attention->v.slice(2, keys.begin, keys.end - keys.begin);
    if (attention->bias) {
      attention->bias = attention->bias->slice(4, keys.begin, keys.end - keys.begin);
    }
  }
  if (auto* cumsum = std::get_if<CumSum>(&op)) { // the last row is in no exclusive prefix
    const std::size_t rows = cumsum->x.rank() - 2;
    cumsum->x = cumsum->x.slice(rows, 0, cumsum->x.dims[rows] - 1);
  }
  if (auto* gather = std::get_if<Gather>(&op)) { // only rows that an index names; which ones does not change the bytes
    gather->x = gather->x.slice(gather->x.rank() - 2, 0, named_rows(*gather));
  }
  Io io;
  std::visit(
      [&](auto& typed) {
        visit_operands(
            typed, [&](const View& view) { io.reads.push_back(view); },
            [&](const View& view) { io.writes.push_back(view); });
      },
      op);
  return io;
}

void for_each_operand(Primitive& primitive, const std::function<void(View&)>& visit) {
  std::visit([&](auto& typed) { visit_operands(typed, visit, visit); }, primitive);
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
  const auto of_role = [&](std::initializer_list<TensorRole> roles) {
    std::vector<View> some;
    std::copy_if(reads.begin(), reads.end(), std::back_inserter(some), [&](const View& view) {
      return std::find(roles.begin(), roles.end(), graph.tensor(view.tensor).role) != roles.end();
    });
    return total_bytes(graph, some);
  };
  return {total_bytes(graph, reads), total_bytes(graph, writes), total_bytes(graph, all),
          of_role({TensorRole::kWeight, TensorRole::kConstant}), of_role({TensorRole::kCache})};
}

} // namespace attnprof::operators
