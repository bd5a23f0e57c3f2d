#pragma once
#include "operators/core/op.hpp"

namespace attnprof::operators {

enum class TensorRole {
  kInput,        ///< given by the caller
  kWeight,       ///< a parameter of the network
  kConstant,     ///< computed once from the configuration (rotary table), not a parameter
  kCache,        ///< keys or values of past tokens, extended in place
  kOutput,       ///< result
  kIntermediate, ///< lives between two launches
};

/// How a constant is computed; everything else is filled with seeded random values.
enum class Fill { kRandom, kRopeTable, kValues };

struct Tensor {
  std::string name;
  Extents dims;
  DType dtype = DType::kF32;
  TensorRole role = TensorRole::kIntermediate;
  Fill fill = Fill::kRandom;
  std::shared_ptr<const std::vector<float>> values; ///< of kValues
  std::optional<std::int64_t> active_elements;      ///< of a table of experts: those that one token uses
  std::int64_t position = 0;                        ///< first position of a rotary table; tokens already in a cache
  [[nodiscard]] Count elements() const { return element_count(dims); }
  [[nodiscard]] Count bytes() const { return elements() * size_bytes(dtype); }
};

/// Tensors and the ops on them in order of execution: the single source of cost, execution and reports (R1).
/// After plan_launches each op is exactly one launch (R2).
struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;

  [[nodiscard]] const Tensor& tensor(TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }
  /// -1 where no tensor has this name.
  [[nodiscard]] TensorId find(std::string_view name) const;
};

} // namespace attnprof::operators
