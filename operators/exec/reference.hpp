#pragma once
#include "operators/core/graph.hpp"

#include <map>
#include <vector>

namespace attnprof::operators {

/// Values of tensors in row-major order, by tensor.
using TensorValues = std::map<TensorId, std::vector<double>>;

/// Runs a launch list in float64 with the naive loops. `given` holds every input, weight, constant and cache; the
/// result holds every output and cache. Nothing is rounded to a dtype on the way.
TensorValues run_reference(const Graph& launches, const TensorValues& given);

/// fill_values of every tensor that must be given, rounded to its dtype.
TensorValues reference_inputs(const Graph& launches, std::uint64_t seed);

} // namespace attnprof::operators
