#include "tests/support/catch.hpp"
#include "tests/support/heads_oracle.hpp"

#include <algorithm>

using namespace attnprof::testing;

namespace {

double dot(const Matrix& q, std::size_t i, const Matrix& k, std::size_t j) {
  double out = 0.0;
  for (std::size_t d = 0; d < q.columns; ++d) {
    out += q(i, d) * k(j, d);
  }
  return out;
}

/// Token by token: squared relu inside the chunk, plus the mean over all tokens (or over those of earlier chunks) of
/// (q·k) v.
Matrix expected_of(const Matrix& q, const Matrix& k, const Matrix& v, std::size_t chunk, bool causal) {
  Matrix out(q.rows, v.columns);
  const double factor = 1.0 / static_cast<double>(chunk * q.columns);
  for (std::size_t i = 0; i < q.rows; ++i) {
    const std::size_t before = i / chunk * chunk;
    for (std::size_t j = 0; j < q.rows; ++j) {
      double weight = 0.0;
      if (j / chunk == i / chunk && (!causal || j <= i)) {
        const double positive = std::max(dot(q, i, k, j), 0.0);
        weight += positive * positive * factor;
      }
      if (!causal) {
        weight += dot(q, i, k, j) / static_cast<double>(q.rows);
      } else if (j < before) {
        weight += dot(q, i, k, j) / static_cast<double>(before);
      }
      for (std::size_t d = 0; d < v.columns; ++d) {
        out(i, d) += weight * v(j, d);
      }
    }
  }
  return out;
}

} // namespace

TEST_CASE("mixed chunk attention on heads equals its definition") {
  for (const char* id : {"variant=mixed_chunk:batch=2:seq_len=8:dim=6:heads=2:chunk=4",
                         "variant=mixed_chunk:seq_len=7:dim=6:heads=3:chunk=3",
                         "variant=mixed_chunk:seq_len=9:dim=4:heads=2:chunk=4:causal=true"}) {
    for (const char* plan : {"eager", "fused"}) {
      INFO(id << " " << plan);
      const Case run(id, plan);
      CHECK(difference_by_heads(run, [&](const Matrix& q, const Matrix& k, const Matrix& v) {
              return expected_of(q, k, v, static_cast<std::size_t>(run.integer("chunk")), run.config().flag("causal"));
            }) < 1e-6);
    }
  }
}
