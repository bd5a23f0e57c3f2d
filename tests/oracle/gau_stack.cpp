#include "tests/support/catch.hpp"
#include "tests/support/gated_unit_oracle.hpp"
#include "tests/support/layer_oracle.hpp"

using namespace attnprof::testing;

namespace {

Matrix unit(const Case& run, const Matrix& x, const std::string& index) {
  const std::string at = "block0.unit" + index + ".";
  const Matrix normed =
      layer_norm(x, run.vector("block0.ln" + index + ".gamma"), run.vector("block0.ln" + index + ".beta"), 1e-5);
  const auto project = [&](const char* name) { return mapped(product(normed, run.given(at + name)), silu); };
  const Matrix z = project("wz");
  const auto role = [&](const std::string& name) {
    Matrix out = z;
    for (std::size_t i = 0; i < out.values.size(); ++i) {
      out.values[i] = out.values[i] * run.vector(at + "gamma_" + name)[i % z.columns] +
                      run.vector(at + "beta_" + name)[i % z.columns];
    }
    return out;
  };
  const double factor = 1.0 / static_cast<double>(z.rows * z.columns);
  Matrix gated = squared_relu_mix(role("q"), role("k"), project("wv"), factor, false);
  const Matrix u = project("wu");
  for (std::size_t i = 0; i < gated.values.size(); ++i) {
    gated.values[i] *= u.values[i];
  }
  return sum(x, product(gated, run.given(at + "wo")));
}

} // namespace

TEST_CASE("a pair of gated units equals plain loops") {
  for (const char* plan : {"eager", "fused"}) {
    const Case run("layout=gau_stack:seq_len=5:dim=6:qk_dim=3", plan);
    CHECK(difference(run.result("y"), unit(run, unit(run, run.given("x"), "0"), "1")) < 1e-10);
  }
}
