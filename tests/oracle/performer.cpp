#include "tests/support/catch.hpp"
#include "tests/support/heads_oracle.hpp"

#include <fmt/format.h>

using namespace attnprof::testing;

namespace {

/// exp(w·x - |x|²/2) of a row scaled by width^(-1/4).
std::vector<double> features(const Matrix& x, std::size_t row, const Matrix& directions) {
  const double factor = std::pow(static_cast<double>(x.columns), -0.25);
  std::vector<double> out(directions.columns, 0.0);
  double square = 0.0;
  for (std::size_t d = 0; d < x.columns; ++d) {
    const double value = x(row, d) * factor;
    square += value * value;
    for (std::size_t f = 0; f < out.size(); ++f) {
      out[f] += value * directions(d, f);
    }
  }
  for (double& value : out) {
    value = std::exp(value - square / 2.0);
  }
  return out;
}

/// Every pair's weight from the features, normalised over the keys that are seen.
Matrix quadratic_form(const Matrix& q, const Matrix& k, const Matrix& v, const Matrix& directions, bool causal) {
  return weighted_means(v, q.rows, causal, [&](std::size_t i, std::size_t j) {
    const std::vector<double> a = features(q, i, directions);
    const std::vector<double> b = features(k, j, directions);
    double weight = 0.0;
    for (std::size_t f = 0; f < a.size(); ++f) {
      weight += a[f] * b[f];
    }
    return weight;
  });
}

} // namespace

TEST_CASE("performer equals the quadratic form of its features") {
  for (const char* id : {"variant=performer:batch=2:seq_len=5:dim=12:heads=3:random_features=7",
                         "variant=performer:seq_len=9:dim=8:heads=2:random_features=3:causal=true:chunk=4"}) {
    for (const char* plan : {"eager", "fused"}) {
      INFO(id << " " << plan);
      const Case run(id, plan);
      const Matrix directions =
          run.given(fmt::format("directions_{}_{}", run.integer("head_dim"), run.integer("random_features")));
      CHECK(difference_by_heads(run, [&](const Matrix& q, const Matrix& k, const Matrix& v) {
              return quadratic_form(q, k, v, directions, run.config().flag("causal"));
            }) < 1e-10);
    }
  }
}

TEST_CASE("performer with many features comes near softmax attention") {
  const auto error = [](const char* features) {
    const Case run(std::string("variant=performer:seq_len=12:dim=4:heads=1:random_features=") + features);
    return difference_by_heads(
        run, [](const Matrix& q, const Matrix& k, const Matrix& v) { return attend(q, k, v, 0.5, no_mask()); });
  };
  CHECK(error("4000") < 0.1);
  CHECK(error("4000") < error("4"));
}
