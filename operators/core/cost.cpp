#include "operators/core/cost.hpp"

#include "operators/core/operands.hpp"

#include <algorithm>

namespace attnprof::operators {

namespace {

void touch(Lifetime& life, std::int64_t at) {
  life.first = life.first < 0 ? at : life.first;
  life.last = at;
}

/// An input is there before the first launch, an output after the last.
void keep_ends(const Graph& launches, std::size_t tensor, Lifetime& life) {
  const TensorRole role = launches.tensors[tensor].role;
  if (life.first >= 0 && role == TensorRole::kInput) {
    life.first = 0;
  }
  if (life.first >= 0 && role == TensorRole::kOutput) {
    life.last = static_cast<std::int64_t>(launches.ops.size()) - 1;
  }
}

} // namespace

std::vector<Lifetime> lifetimes(const Graph& launches) {
  std::vector<Lifetime> out(launches.tensors.size());
  for (std::size_t i = 0; i < launches.ops.size(); ++i) {
    const auto visit = [&](TensorId id) { touch(out[static_cast<std::size_t>(id)], static_cast<std::int64_t>(i)); };
    visit_tensors(launches.ops[i].primitive, visit, visit);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    keep_ends(launches, i, out[i]);
  }
  return out;
}

namespace {

bool is_activation(TensorRole role) {
  return role == TensorRole::kInput || role == TensorRole::kOutput || role == TensorRole::kIntermediate;
}

/// What counting knows of a tensor.
struct TensorCount {
  Lifetime life;
  Count read = 0; ///< elements that the launches read, again for each launch: an upper bound of those used
  Count bytes = 0;
};

Count peak_activation_bytes(const Graph& launches, const std::vector<TensorCount>& tensors) {
  struct Change {
    Count grows = 0;
    Count shrinks = 0;
  };
  std::vector<Change> changes(launches.ops.size() + 1);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorCount& tensor = tensors[i];
    if (tensor.life.first >= 0 && is_activation(launches.tensors[i].role)) {
      changes[static_cast<std::size_t>(tensor.life.first)].grows += tensor.bytes;
      changes[static_cast<std::size_t>(tensor.life.last) + 1].shrinks += tensor.bytes;
    }
  }
  Count live = 0;
  Count peak = 0;
  for (std::size_t i = 0; i < launches.ops.size(); ++i) {
    live = live + changes[i].grows - changes[i].shrinks;
    peak = std::max(peak, live);
  }
  return peak;
}

void add_tensors(const Graph& launches, std::vector<TensorCount>& counts, Totals& totals) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Tensor& tensor = launches.tensors[i];
    TensorCount& count = counts[i];
    if (count.life.first < 0) {
      continue;
    }
    const Count elements = tensor.elements();
    count.bytes = elements * size_bytes(tensor.dtype);
    if (tensor.role == TensorRole::kIntermediate) {
      continue;
    }
    // Rows of a token table and experts that no token goes to need not be read.
    totals.compulsory_bytes +=
        tensor.role == TensorRole::kWeight ? std::min(count.bytes, count.read * size_bytes(tensor.dtype)) : count.bytes;
    if (tensor.role == TensorRole::kWeight) {
      totals.params += elements;
      totals.active_params += tensor.active_elements ? Count(*tensor.active_elements) : elements;
      totals.weight_bytes += count.bytes;
    } else if (tensor.role == TensorRole::kCache) {
      totals.kv_cache_bytes += count.bytes;
    }
  }
}

/// Totals of the launches; each(op, work, bytes) is told of every one.
template <class Each>
Totals counted(const Graph& launches, Each&& each) {
  Totals totals;
  std::vector<TensorCount> tensors(launches.tensors.size());
  for (std::size_t i = 0; i < launches.ops.size(); ++i) {
    const Op& op = launches.ops[i];
    bool shared = false; // two operands on one tensor may be the same bytes
    const auto use = [&](TensorId tensor) {
      Lifetime& life = tensors[static_cast<std::size_t>(tensor)].life;
      shared = shared || life.last == static_cast<std::int64_t>(i);
      touch(life, static_cast<std::int64_t>(i));
    };
    visit_tensors(op.primitive, use, use);
    const Work work = work_of(op.primitive);
    const Bytes bytes = bytes_of(launches, op, shared, [&](TensorId tensor, Count elements) {
      tensors[static_cast<std::size_t>(tensor)].read += elements;
    });
    totals.work += work;
    totals.bytes_read += bytes.read;
    totals.bytes_written += bytes.written;
    each(op, work, bytes);
  }
  (void)(totals.bytes_read + totals.bytes_written); // their sum is printed, so it must fit as well
  (void)totals.work.flops();
  totals.launches = static_cast<std::int64_t>(launches.ops.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    keep_ends(launches, i, tensors[i].life);
  }
  add_tensors(launches, tensors, totals);
  totals.peak_activation_bytes = peak_activation_bytes(launches, tensors);
  return totals;
}

} // namespace

Cost cost_of(const Graph& launches) {
  Cost cost;
  cost.launches.reserve(launches.ops.size());
  cost.totals = counted(launches, [&](const Op& op, const Work& work, const Bytes& bytes) {
    cost.launches.push_back({op.scope, std::string(name_of(op.primitive)), shape_of(op.primitive), work, bytes});
  });
  return cost;
}

Totals totals_of(const Graph& launches) {
  return counted(launches, [](const Op&, const Work&, const Bytes&) {});
}

} // namespace attnprof::operators
