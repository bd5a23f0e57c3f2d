#include "tests/support/heads_oracle.hpp"

#include <algorithm>

namespace attnprof::testing {

Matrix head_of(const Matrix& x, std::size_t head, std::size_t width) {
  return columns_of(x, head * width, width);
}

Matrix weighted_means(const Matrix& v, std::size_t queries, bool causal,
                      const std::function<double(std::size_t, std::size_t)>& weight) {
  Matrix out(queries, v.columns);
  for (std::size_t i = 0; i < queries; ++i) {
    double total = 0.0;
    for (std::size_t j = 0; j < (causal ? i + 1 : v.rows); ++j) {
      const double share = weight(i, j);
      total += share;
      for (std::size_t d = 0; d < v.columns; ++d) {
        out(i, d) += share * v(j, d);
      }
    }
    for (std::size_t d = 0; d < v.columns; ++d) {
      out(i, d) /= total;
    }
  }
  return out;
}

double difference_by_heads(const Case& run, const HeadMix& mix) {
  const auto batch = static_cast<std::size_t>(run.integer("batch"));
  const auto heads = static_cast<std::size_t>(run.integer("heads"));
  const Matrix all = run.given("x");
  const std::size_t tokens = all.rows / batch;
  double worst = 0.0;
  for (std::size_t b = 0; b < batch; ++b) {
    const Matrix x = rows_of(all, b * tokens, tokens);
    const Matrix q = product(x, run.given("wq"));
    const Matrix k = product(x, run.given("wk"));
    const Matrix v = product(x, run.given("wv"));
    const std::size_t width = q.columns / heads;
    Matrix mixed(tokens, q.columns);
    for (std::size_t h = 0; h < heads; ++h) {
      put_columns(mixed, h * width, mix(head_of(q, h, width), head_of(k, h, width), head_of(v, h, width)));
    }
    const double apart = difference(rows_of(run.result("y"), b * tokens, tokens), product(mixed, run.given("wo")));
    if (std::isnan(apart)) {
      return apart; // a maximum would pass it over
    }
    worst = std::max(worst, apart);
  }
  return worst;
}

} // namespace attnprof::testing
