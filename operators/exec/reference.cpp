#include "operators/exec/reference.hpp"

#include "operators/exec/fill.hpp"
#include "operators/kernels/reference/attention_loop.hpp"
#include "operators/kernels/reference/loops.hpp"

#include <fmt/format.h>

namespace attnprof::operators {
namespace {

struct DoubleMemory {
  using Scalar = double;
  std::vector<std::vector<double>> tensors;

  [[nodiscard]] double load(TensorId tensor, std::int64_t address) const {
    return tensors[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(address)];
  }
  void store(TensorId tensor, std::int64_t address, double value) {
    tensors[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(address)] = value;
  }
};

bool must_be_given(TensorRole role) {
  return role != TensorRole::kOutput && role != TensorRole::kIntermediate;
}

} // namespace

TensorValues run_reference(const Graph& launches, const TensorValues& given) {
  DoubleMemory memory;
  for (std::size_t i = 0; i < launches.tensors.size(); ++i) {
    const Tensor& tensor = launches.tensors[i];
    const auto elements = static_cast<std::size_t>(tensor.elements().value());
    const auto found = given.find(static_cast<TensorId>(i));
    if (found == given.end() && must_be_given(tensor.role)) {
      throw Error(ErrorKind::kInternal, fmt::format("tensor '{}' was not given", tensor.name));
    }
    if (found != given.end() && found->second.size() != elements) {
      throw Error(ErrorKind::kInvalid, fmt::format("tensor '{}' has {} values, its shape {} needs {}", tensor.name,
                                                   found->second.size(), shape_of(tensor.dims), elements));
    }
    memory.tensors.push_back(found == given.end() ? std::vector<double>(elements) : found->second);
  }
  for (const Op& op : launches.ops) {
    std::visit([&](const auto& primitive) { reference::run_loop(primitive, memory); }, op.primitive);
  }
  TensorValues out;
  for (std::size_t i = 0; i < launches.tensors.size(); ++i) {
    const TensorRole role = launches.tensors[i].role;
    if (role == TensorRole::kOutput || role == TensorRole::kCache) {
      out[static_cast<TensorId>(i)] = std::move(memory.tensors[i]);
    }
  }
  return out;
}

TensorValues reference_inputs(const Graph& launches, std::uint64_t seed) {
  TensorValues out;
  for (std::size_t i = 0; i < launches.tensors.size(); ++i) {
    const Tensor& tensor = launches.tensors[i];
    if (must_be_given(tensor.role)) {
      std::vector<double>& values = out[static_cast<TensorId>(i)];
      for (const float value : fill_values(tensor, seed)) {
        values.push_back(static_cast<double>(round_to(tensor.dtype, value)));
      }
    }
  }
  return out;
}

} // namespace attnprof::operators
