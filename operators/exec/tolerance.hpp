#pragma once
#include "operators/core/graph.hpp"
#include "operators/core/product_math.hpp"

namespace attnprof::operators {

/// Relative error (2-norm over the outputs) allowed against the float64 reference, derived from the launches.
///
/// A stored value is rounded by at most u = 2^-p of itself, p significant bits of its dtype: 8 for bf16, 11 for f16, 24
/// for f32. Errors of launches one after another are independent, so that their squares add up along the longest chain
/// of launches from the inputs to an output; sums within a launch run in f32 and add one unit of f32 for the root of
/// their length, exponentials and their kind four. A fused attention rounds twice: some kernels store its weights too.
/// Products in tf32 round both factors to 11 bits. The bound is three times the root of that sum. f32 is allowed 5e-5
/// at least, since sums of mixed signs can be small beside what was added, which no count of launches tells. Measured
/// on every sample case in both plans (bf16): 0.26 u for the root of a chain's length in the median, at most 1.
double tolerance_of(const Graph& launches, ProductMath math = ProductMath::kF32);

} // namespace attnprof::operators
