#include "operators/core/io.hpp"

#include "operators/core/operands.hpp"

#include <algorithm>
#include <array>

namespace attnprof::operators {

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

namespace {

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

Io io_of(const Primitive& primitive) {
  Io io;
  io.reads.reserve(4);
  io.writes.reserve(1);
  visit_io(
      primitive, [&](const View& view) { io.reads.push_back(view); },
      [&](const View& view) { io.writes.push_back(view); });
  return io;
}

void for_each_operand(Primitive& primitive, const std::function<void(View&)>& visit) {
  std::visit([&](auto& typed) { visit_operands(typed, visit, visit); }, primitive);
}

Bytes bytes_of_overlapping(const Graph& graph, const Op& op) {
  const Io operands = io_of(op.primitive);
  std::vector<View> views;
  views.reserve(operands.reads.size() + operands.writes.size());
  for (const View& view : operands.reads) {
    add_distinct(views, view);
  }
  Bytes out;
  for (const View& view : views) {
    add_read(graph.tensor(view.tensor), view.distinct_elements(), out);
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

Bytes bytes_of(const Graph& graph, const Op& op) {
  InlineList<TensorId, 10> tensors;
  bool shared = false;
  const auto look_at = [&](TensorId tensor) {
    shared = shared || std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
    tensors.push_back(tensor);
  };
  visit_tensors(op.primitive, look_at, look_at);
  return bytes_of(graph, op, shared, [](TensorId, Count) {});
}

} // namespace attnprof::operators
