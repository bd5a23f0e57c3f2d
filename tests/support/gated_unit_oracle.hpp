// Plain-loop gated attention units.
#pragma once
#include "tests/support/naive.hpp"

namespace attnprof::testing {

struct GatedParts {
  Matrix u, v, z; ///< of one sequence
};
/// z * gamma_NAME + beta_NAME.
Matrix offset_scaled(const Case& run, const Matrix& z, const std::string& name);
/// relu(q kᵀ)² factor v, zero above the diagonal where causal.
Matrix squared_relu_mix(const Matrix& q, const Matrix& k, const Matrix& v, double factor, bool causal);
/// Compares both plans with (u * mix(parts)) wo.
void check_gated_unit(const std::string& id, const std::function<Matrix(const Case&, const GatedParts&)>& mix);

} // namespace attnprof::testing
