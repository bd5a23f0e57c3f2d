#include "operators/core/cost.hpp"

#include "operators/core/operands.hpp"

#include <algorithm>

namespace attnprof::operators {

namespace {

void touch(Lifetime& life, std::int64_t at) {
  life.first = life.first < 0 ? at : life.first;
  life.last = at;
}

/// Inputs are there before the first launch, outputs after the last.
void keep_ends(const Graph& launches, std::vector<Lifetime>& lives) {
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const TensorRole role = launches.tensors[i].role;
    if (lives[i].first >= 0 && role == TensorRole::kInput) {
      lives[i].first = 0;
    }
    if (lives[i].first >= 0 && role == TensorRole::kOutput) {
      lives[i].last = static_cast<std::int64_t>(launches.ops.size()) - 1;
    }
  }
}

} // namespace

std::vector<Lifetime> lifetimes(const Graph& launches) {
  std::vector<Lifetime> out(launches.tensors.size());
  for (std::size_t i = 0; i < launches.ops.size(); ++i) {
    const auto visit = [&](TensorId id) { touch(out[static_cast<std::size_t>(id)], static_cast<std::int64_t>(i)); };
    visit_tensors(launches.ops[i].primitive, visit, visit);
  }
  keep_ends(launches, out);
  return out;
}

namespace {

bool is_activation(TensorRole role) {
  return role == TensorRole::kInput || role == TensorRole::kOutput || role == TensorRole::kIntermediate;
}

Count peak_activation_bytes(const Graph& launches, const std::vector<Lifetime>& lives) {
  std::vector<Count> grows(launches.ops.size() + 1);
  std::vector<Count> shrinks(launches.ops.size() + 1);
  for (std::size_t i = 0; i < lives.size(); ++i) {
    if (lives[i].first >= 0 && is_activation(launches.tensors[i].role)) {
      grows[static_cast<std::size_t>(lives[i].first)] += launches.tensors[i].bytes();
      shrinks[static_cast<std::size_t>(lives[i].last) + 1] += launches.tensors[i].bytes();
    }
  }
  Count live = 0;
  Count peak = 0;
  for (std::size_t i = 0; i < launches.ops.size(); ++i) {
    live = live + grows[i] - shrinks[i];
    peak = std::max(peak, live);
  }
  return peak;
}

/// `read`: elements of each tensor that the launches read, counted again for each launch: an upper bound of those used.
void add_tensors(const Graph& launches, const std::vector<Count>& read, const std::vector<Lifetime>& lives,
                 Totals& totals) {
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const Tensor& tensor = launches.tensors[i];
    if (lives[i].first < 0 || tensor.role == TensorRole::kIntermediate) {
      continue;
    }
    const Count bytes = tensor.bytes();
    // Rows of a token table and experts that no token goes to need not be read.
    totals.compulsory_bytes +=
        tensor.role == TensorRole::kWeight ? std::min(bytes, read[i] * size_bytes(tensor.dtype)) : bytes;
    if (tensor.role == TensorRole::kWeight) {
      totals.params += tensor.elements();
      totals.active_params += tensor.active_elements ? Count(*tensor.active_elements) : tensor.elements();
      totals.weight_bytes += bytes;
    } else if (tensor.role == TensorRole::kCache) {
      totals.kv_cache_bytes += bytes;
    }
  }
}

/// Totals of the launches; each(op, work, bytes) is told of every one.
template <class Each>
Totals counted(const Graph& launches, Each&& each) {
  Totals totals;
  std::vector<Lifetime> lives(launches.tensors.size());
  std::vector<Count> read(launches.tensors.size());
  Io io;
  for (std::size_t i = 0; i < launches.ops.size(); ++i) {
    const Op& op = launches.ops[i];
    list_io(op.primitive, io);
    const Work work = work_of(op.primitive);
    const Bytes bytes = bytes_of(launches, io);
    totals.work += work;
    totals.bytes_read += bytes.read;
    totals.bytes_written += bytes.written;
    each(op, work, bytes);
    for (const View& view : io.reads) {
      touch(lives[static_cast<std::size_t>(view.tensor)], static_cast<std::int64_t>(i));
      read[static_cast<std::size_t>(view.tensor)] += view.distinct_elements();
    }
    for (const View& view : io.writes) {
      touch(lives[static_cast<std::size_t>(view.tensor)], static_cast<std::int64_t>(i));
    }
  }
  (void)(totals.bytes_read + totals.bytes_written); // their sum is printed, so it must fit as well
  (void)totals.work.flops();
  totals.launches = static_cast<std::int64_t>(launches.ops.size());
  keep_ends(launches, lives);
  add_tensors(launches, read, lives, totals);
  totals.peak_activation_bytes = peak_activation_bytes(launches, lives);
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
