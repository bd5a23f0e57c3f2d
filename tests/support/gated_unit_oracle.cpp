#include "tests/support/gated_unit_oracle.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/layer_oracle.hpp"

namespace attnprof::testing {

Matrix offset_scaled(const Case& run, const Matrix& z, const std::string& name) {
  const std::vector<double> gamma = run.vector("gamma_" + name);
  const std::vector<double> beta = run.vector("beta_" + name);
  Matrix out = z;
  for (std::size_t i = 0; i < z.rows; ++i) {
    for (std::size_t j = 0; j < z.columns; ++j) {
      out(i, j) = z(i, j) * gamma[j] + beta[j];
    }
  }
  return out;
}

Matrix squared_relu_mix(const Matrix& q, const Matrix& k, const Matrix& v, double factor, bool causal) {
  Matrix weights = product(q, transposed(k));
  for (std::size_t i = 0; i < weights.rows; ++i) {
    for (std::size_t j = 0; j < weights.columns; ++j) {
      const double positive = weights(i, j) > 0.0 && !(causal && j > i) ? weights(i, j) : 0.0;
      weights(i, j) = positive * positive * factor;
    }
  }
  return product(weights, v);
}

void check_gated_unit(const std::string& id, const std::function<Matrix(const Case&, const GatedParts&)>& mix) {
  for (const char* plan : {"eager", "fused"}) {
    INFO(id << " " << plan);
    const Case run(id, plan);
    const auto batch = static_cast<std::size_t>(run.integer("batch"));
    const std::size_t tokens = run.given("x").rows / batch;
    for (std::size_t b = 0; b < batch; ++b) {
      const Matrix x = rows_of(run.given("x"), b * tokens, tokens);
      const GatedParts parts{mapped(product(x, run.given("wu")), silu), mapped(product(x, run.given("wv")), silu),
                             mapped(product(x, run.given("wz")), silu)};
      Matrix gated = mix(run, parts);
      for (std::size_t i = 0; i < gated.values.size(); ++i) {
        gated.values[i] *= parts.u.values[i];
      }
      CHECK(difference(rows_of(run.result("y"), b * tokens, tokens), product(gated, run.given("wo"))) < 1e-7);
    }
  }
}

} // namespace attnprof::testing
