#include "tests/support/catch.hpp"
#include "tests/support/heads_oracle.hpp"

#include <algorithm>

using namespace attnprof::testing;

namespace {

Matrix means(const Matrix& x, std::size_t count) {
  const std::size_t part = x.rows / count;
  Matrix out(count, x.columns);
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t d = 0; d < x.columns; ++d) {
      out(i / part, d) += x(i, d) / static_cast<double>(part);
    }
  }
  return out;
}

Matrix identity(std::size_t n) {
  Matrix out(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    out(i, i) = 1.0;
  }
  return out;
}

/// softmax(scale q kᵀ) itself: attention on the identity.
Matrix weights(const Matrix& q, const Matrix& k) {
  return attend(q, k, identity(k.rows), 1.0 / std::sqrt(static_cast<double>(q.columns)), no_mask());
}

Matrix combined(double a, const Matrix& x, double b, const Matrix& y) {
  Matrix out = x;
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    out.values[i] = a * x.values[i] + b * y.values[i];
  }
  return out;
}

/// Z <- Z (13 I - A Z (15 I - A Z (7 I - A Z))) / 4 (eq. 13).
Matrix iterated_inverse(const Matrix& a, int iterations = 6) {
  double norm = 0.0;
  for (std::size_t j = 0; j < a.columns; ++j) {
    double column = 0.0;
    for (std::size_t i = 0; i < a.rows; ++i) {
      column += a(i, j);
    }
    norm = std::max(norm, column);
  }
  Matrix z = combined(1.0 / norm, transposed(a), 0.0, a);
  const Matrix one = identity(a.rows);
  for (int i = 0; i < iterations; ++i) {
    const Matrix az = product(a, z);
    Matrix y = combined(7.0, one, -1.0, az);
    y = combined(15.0, one, -1.0, product(az, y));
    y = combined(13.0, one, -1.0, product(az, y));
    z = combined(0.25, product(z, y), 0.0, y);
  }
  return z;
}

} // namespace

TEST_CASE("nystromformer equals its three factors with the iterated pseudo-inverse") {
  for (const char* id : {"variant=nystromformer:batch=2:seq_len=6:dim=12:heads=3:landmarks=3",
                         "variant=nystromformer:seq_len=8:dim=8:heads=2:landmarks=2"}) {
    for (const char* plan : {"eager", "fused"}) {
      INFO(id << " " << plan);
      const Case run(id, plan);
      const auto count = static_cast<std::size_t>(run.integer("landmarks"));
      CHECK(difference_by_heads(run, [&](const Matrix& q, const Matrix& k, const Matrix& v) {
              const Matrix inverse = iterated_inverse(weights(means(q, count), means(k, count)));
              const Matrix gathered = product(weights(means(q, count), k), v);
              return product(weights(q, means(k, count)), product(inverse, gathered));
            }) < 1e-9);
    }
  }
}

TEST_CASE("nystromformer's iteration comes to the true inverse") {
  const Case run("variant=nystromformer:seq_len=8:dim=8:heads=1:landmarks=2");
  const Matrix q = product(run.given("x"), run.given("wq"));
  const Matrix k = product(run.given("x"), run.given("wk"));
  const Matrix a = weights(means(q, 2), means(k, 2));
  const double determinant = a(0, 0) * a(1, 1) - a(0, 1) * a(1, 0);
  REQUIRE(std::abs(determinant) > 1e-3);
  const auto error = [&](int iterations) {
    return difference(product(a, iterated_inverse(a, iterations)), identity(2));
  };
  CHECK(error(6) < error(3));
  CHECK(error(30) < 1e-10);
}
