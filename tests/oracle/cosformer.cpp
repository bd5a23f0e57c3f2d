#include "tests/support/catch.hpp"
#include "tests/support/heads_oracle.hpp"

#include <algorithm>

using namespace attnprof::testing;

namespace {

/// Weights relu(q_i)·relu(k_j) cos(pi/2 (i - j)/n), normalised over the keys that are seen (eq. 9).
Matrix quadratic_form(const Matrix& q, const Matrix& k, const Matrix& v, bool causal) {
  return weighted_means(v, q.rows, causal, [&](std::size_t i, std::size_t j) {
    double weight = 0.0;
    for (std::size_t d = 0; d < q.columns; ++d) {
      weight += std::max(q(i, d), 0.0) * std::max(k(j, d), 0.0);
    }
    const double distance = static_cast<double>(i) - static_cast<double>(j);
    return weight * std::cos(std::acos(0.0) * distance / static_cast<double>(q.rows));
  });
}

} // namespace

TEST_CASE("cosformer equals its quadratic form") {
  for (const char* id :
       {"variant=cosformer:batch=2:seq_len=5:dim=12:heads=1", "variant=cosformer:seq_len=9:dim=16:heads=2",
        "variant=cosformer:seq_len=9:dim=16:heads=1:causal=true:chunk=4"}) {
    for (const char* plan : {"eager", "fused"}) {
      INFO(id << " " << plan);
      const Case run(id, plan);
      // Angles are stored in single precision.
      CHECK(difference_by_heads(run, [&](const Matrix& q, const Matrix& k, const Matrix& v) {
              return quadratic_form(q, k, v, run.config().flag("causal"));
            }) < 1e-5);
    }
  }
}
