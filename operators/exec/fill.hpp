#pragma once
#include "operators/core/graph.hpp"

#include <vector>

namespace attnprof::operators {

/// Values of a tensor before the first run, in row-major order: seeded by the seed and the tensor's name alone, so
/// eager and fused plans, executors and reruns start from the same numbers. Weights have the spread 1/sqrt(fan-in) that
/// keeps activations near one; inputs lie in [-1, 1]; a rotary table holds cos and sin of position * 10000^(-2i/d).
std::vector<float> fill_values(const Tensor& tensor, std::uint64_t seed);

/// Rounds to the nearest value of the dtype (ties to even), as storing would.
float round_to(DType dtype, float value);

} // namespace attnprof::operators
