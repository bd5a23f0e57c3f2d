#include "tests/support/grouped_heads_oracle.hpp"

#include "tests/support/catch.hpp"

namespace attnprof::testing {
namespace {

Matrix expected_of(const Case& run, const Matrix& x, bool cascade) {
  const auto heads = static_cast<std::size_t>(run.integer("heads"));
  const auto v_dim = static_cast<std::size_t>(run.integer("v_dim"));
  const auto qk_dim = static_cast<std::size_t>(run.integer("qk_dim"));
  const std::size_t slice = x.columns / heads;
  Matrix mixed(x.rows, heads * v_dim);
  Matrix previous;
  for (std::size_t h = 0; h < heads; ++h) {
    Matrix input = columns_of(x, h * slice, slice);
    if (cascade && h > 0) {
      input = sum(input, previous);
    }
    // Weights are [heads, slice, width]: head h owns rows h * slice and following.
    const auto project = [&](const char* name) { return product(input, rows_of(run.given(name), h * slice, slice)); };
    previous =
        attend(project("wq"), project("wk"), project("wv"), 1.0 / std::sqrt(static_cast<double>(qk_dim)), no_mask());
    put_columns(mixed, h * v_dim, previous);
  }
  return product(mixed, run.given("wo"));
}

} // namespace

void check_grouped_heads(const std::string& id, bool cascade) {
  for (const char* plan : {"eager", "fused"}) {
    INFO(id << " " << plan);
    const Case run(id, plan);
    const auto batch = static_cast<std::size_t>(run.integer("batch"));
    const std::size_t tokens = run.given("x").rows / batch;
    for (std::size_t b = 0; b < batch; ++b) {
      CHECK(difference(rows_of(run.result("y"), b * tokens, tokens),
                       expected_of(run, rows_of(run.given("x"), b * tokens, tokens), cascade)) < 1e-12);
    }
  }
}

} // namespace attnprof::testing
