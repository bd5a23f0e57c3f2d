// A scalar that counts its own operators and a memory that records which elements are touched. Run through the
// reference loops they prove, without any formula, what the cost visitor claims.
#pragma once
#include "operators/core/graph.hpp"
#include "operators/kernels/reference/scalar.hpp"

#include <set>
#include <utility>
#include <vector>

namespace attnprof::testing {

struct OperationCounts {
  std::int64_t macs = 0;
  std::int64_t vector_flops = 0;
  std::int64_t transcendentals = 0;
};

/// A double that knows the counter of the memory it came from; constants know none and count only beside a loaded
/// value.
struct Counted {
  double value = 0.0;
  OperationCounts* counts = nullptr;

  Counted() = default;
  explicit Counted(double v) : value(v) {}
  Counted(double v, OperationCounts* c) : value(v), counts(c) {}
};

inline OperationCounts* counter(const Counted& a, const Counted& b) {
  return a.counts != nullptr ? a.counts : b.counts;
}
inline Counted vector_op(double value, OperationCounts* counts, bool transcendental = false) {
  if (counts != nullptr) {
    ++counts->vector_flops;
    counts->transcendentals += transcendental ? 1 : 0;
  }
  return {value, counts};
}
inline Counted operator+(const Counted& a, const Counted& b) {
  return vector_op(a.value + b.value, counter(a, b));
}
inline Counted operator-(const Counted& a, const Counted& b) {
  return vector_op(a.value - b.value, counter(a, b));
}
inline Counted operator*(const Counted& a, const Counted& b) {
  return vector_op(a.value * b.value, counter(a, b));
}
inline Counted operator/(const Counted& a, const Counted& b) {
  return vector_op(a.value / b.value, counter(a, b));
}
inline Counted maximum(const Counted& a, const Counted& b) {
  return vector_op(a.value > b.value ? a.value : b.value, counter(a, b));
}
inline Counted minimum(const Counted& a, const Counted& b) {
  return vector_op(a.value < b.value ? a.value : b.value, counter(a, b));
}
inline Counted mul_add(const Counted& a, const Counted& b, const Counted& c) {
  OperationCounts* counts = a.counts != nullptr ? a.counts : counter(b, c);
  if (counts != nullptr) {
    ++counts->macs;
  }
  return {a.value * b.value + c.value, counts};
}
inline Counted exp_of(const Counted& x) {
  return vector_op(std::exp(x.value), x.counts, true);
}
inline Counted erf_of(const Counted& x) {
  return vector_op(std::erf(x.value), x.counts, true);
}
inline Counted sigmoid_of(const Counted& x) {
  return vector_op(1.0 / (1.0 + std::exp(-x.value)), x.counts, true);
}
inline Counted tanh_of(const Counted& x) {
  return vector_op(std::tanh(x.value), x.counts, true);
}
inline Counted rsqrt_of(const Counted& x) {
  return vector_op(1.0 / std::sqrt(x.value), x.counts, true);
}
inline double value_of(const Counted& x) {
  return x.value;
}
inline Counted with_value(const Counted& like, double value) {
  return {value, like.counts};
}

class CountingMemory {
 public:
  using Scalar = Counted;
  using Address = std::pair<operators::TensorId, std::int64_t>;

  explicit CountingMemory(const operators::Graph& graph) : graph_(graph) {
    double next = 0.25;
    for (const operators::Tensor& tensor : graph.tensors) {
      tensors_.emplace_back();
      for (std::int64_t i = 0; i < tensor.elements().value(); ++i) {
        if (tensor.values != nullptr) { // indices must stay what they are
          tensors_.back().push_back(static_cast<double>((*tensor.values)[static_cast<std::size_t>(i)]));
          continue;
        }
        tensors_.back().push_back(next);
        next = next > 1.0 ? next - 1.37 : next + 0.31; // any finite values do: counts do not depend on them
      }
    }
  }
  Counted load(operators::TensorId tensor, std::int64_t address) {
    reads_.emplace(tensor, address);
    return {tensors_.at(static_cast<std::size_t>(tensor)).at(static_cast<std::size_t>(address)), &counts_};
  }
  void store(operators::TensorId tensor, std::int64_t address, const Counted& x) {
    writes_.emplace(tensor, address);
    tensors_.at(static_cast<std::size_t>(tensor)).at(static_cast<std::size_t>(address)) = x.value;
  }
  void start_launch() {
    counts_ = {};
    reads_.clear();
    writes_.clear();
  }
  [[nodiscard]] const OperationCounts& counts() const { return counts_; }
  [[nodiscard]] std::int64_t bytes_read() const { return bytes(reads_); }
  [[nodiscard]] std::int64_t bytes_written() const { return bytes(writes_); }
  [[nodiscard]] std::int64_t bytes_touched() const {
    std::set<Address> all = reads_;
    all.insert(writes_.begin(), writes_.end());
    return bytes(all);
  }

 private:
  [[nodiscard]] std::int64_t bytes(const std::set<Address>& addresses) const {
    std::int64_t out = 0;
    for (const Address& address : addresses) {
      out += operators::size_bytes(graph_.tensor(address.first).dtype);
    }
    return out;
  }
  const operators::Graph& graph_;
  std::vector<std::vector<double>> tensors_;
  OperationCounts counts_;
  std::set<Address> reads_;
  std::set<Address> writes_;
};

} // namespace attnprof::testing
