#include "operators/core/cost.hpp"

#include <algorithm>

namespace attnprof::operators {

namespace {

std::vector<Io> operands_of(const Graph& launches) {
  std::vector<Io> out;
  out.reserve(launches.ops.size());
  for (const Op& op : launches.ops) {
    out.push_back(io_of(op.primitive));
  }
  return out;
}

std::vector<Lifetime> lifetimes(const Graph& launches, const std::vector<Io>& operands) {
  std::vector<Lifetime> out(launches.tensors.size());
  const auto touch = [&](const View& view, std::int64_t at) {
    Lifetime& life = out[static_cast<std::size_t>(view.tensor)];
    life.first = life.first < 0 ? at : life.first;
    life.last = at;
  };
  const auto count = static_cast<std::int64_t>(operands.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const Io& io = operands[static_cast<std::size_t>(i)];
    for (const View& view : io.reads) {
      touch(view, i);
    }
    for (const View& view : io.writes) {
      touch(view, i);
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const TensorRole role = launches.tensors[i].role;
    if (out[i].first >= 0 && role == TensorRole::kInput) {
      out[i].first = 0;
    }
    if (out[i].first >= 0 && role == TensorRole::kOutput) {
      out[i].last = count - 1;
    }
  }
  return out;
}

} // namespace

std::vector<Lifetime> lifetimes(const Graph& launches) {
  return lifetimes(launches, operands_of(launches));
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

/// Elements of each tensor that the launches read, counted again for each launch: an upper bound of those used.
std::vector<Count> elements_read(const Graph& launches, const std::vector<Io>& operands) {
  std::vector<Count> out(launches.tensors.size());
  for (const Io& io : operands) {
    for (const View& view : io.reads) {
      out[static_cast<std::size_t>(view.tensor)] += view.distinct_elements();
    }
  }
  return out;
}

void add_tensors(const Graph& launches, const std::vector<Io>& operands, const std::vector<Lifetime>& lives,
                 Totals& totals) {
  const std::vector<Count> read = elements_read(launches, operands);
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

} // namespace

Cost cost_of(const Graph& launches) {
  Cost cost;
  cost.launches.reserve(launches.ops.size());
  const std::vector<Io> operands = operands_of(launches);
  for (std::size_t i = 0; i < launches.ops.size(); ++i) {
    const Op& op = launches.ops[i];
    LaunchCost launch{op.scope, std::string(name_of(op.primitive)), shape_of(op.primitive), work_of(op.primitive),
                      bytes_of(launches, operands[i])};
    cost.totals.work += launch.work;
    cost.totals.bytes_read += launch.bytes.read;
    cost.totals.bytes_written += launch.bytes.written;
    cost.launches.push_back(std::move(launch));
  }
  (void)(cost.totals.bytes_read + cost.totals.bytes_written); // their sum is printed, so it must fit as well
  (void)cost.totals.work.flops();
  cost.totals.launches = static_cast<std::int64_t>(launches.ops.size());
  const std::vector<Lifetime> lives = lifetimes(launches, operands);
  add_tensors(launches, operands, lives, cost.totals);
  cost.totals.peak_activation_bytes = peak_activation_bytes(launches, lives);
  return cost;
}

} // namespace attnprof::operators
