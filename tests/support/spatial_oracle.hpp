// Plain-loop spatial-reduction attention.
#pragma once
#include "tests/support/naive.hpp"

namespace attnprof::testing {

/// The attention of PVT on one map x [height * width, dim], with the weights of the case under `prefix`.
Matrix spatial_reduction(const Case& run, const std::string& prefix, const Matrix& x);

} // namespace attnprof::testing
