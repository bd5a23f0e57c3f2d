#include "tests/support/catch.hpp"
#include "tests/support/naive.hpp"

using namespace attnprof::testing;

namespace {

/// Token by token from the definition: two tokens see each other when the shifted grid puts them into one window
/// without wrapping; a padded token is a zero row that still takes part in the softmax.
Matrix expected_of(const Case& run, const Matrix& x) {
  const auto grid = run.config().grid();
  const std::int64_t side = run.integer("window");
  const std::int64_t shift = run.integer("shift");
  const std::int64_t padded_h = (grid.height + side - 1) / side * side;
  const std::int64_t padded_w = (grid.width + side - 1) / side * side;
  const auto heads = static_cast<std::size_t>(run.integer("heads"));
  const auto width = static_cast<std::size_t>(run.integer("head_dim"));
  Matrix padded(static_cast<std::size_t>(padded_h * padded_w), x.columns);
  for (std::int64_t t = 0; t < grid.height * grid.width; ++t) {
    for (std::size_t c = 0; c < x.columns; ++c) {
      padded(static_cast<std::size_t>(t / grid.width * padded_w + t % grid.width), c) =
          x(static_cast<std::size_t>(t), c);
    }
  }
  const Matrix q = product(padded, run.given("wq"));
  const Matrix k = product(padded, run.given("wk"));
  const Matrix v = product(padded, run.given("wv"));
  const Matrix table = run.given("relative_bias");
  // Coordinates after the roll; a token that wrapped lies in front of the others of its row or column.
  const auto rolled = [&](std::int64_t p, std::int64_t size) { return (p + size - shift) % size; };
  const auto wrapped = [&](std::int64_t p) { return p < shift; };
  Matrix mixed(padded.rows, heads * width);
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t i = 0; i < padded.rows; ++i) {
      const std::int64_t iy = rolled(static_cast<std::int64_t>(i) / padded_w, padded_h);
      const std::int64_t ix = rolled(static_cast<std::int64_t>(i) % padded_w, padded_w);
      double total = 0.0;
      std::vector<double> weights(padded.rows, 0.0);
      for (std::size_t j = 0; j < padded.rows; ++j) {
        const std::int64_t jy = rolled(static_cast<std::int64_t>(j) / padded_w, padded_h);
        const std::int64_t jx = rolled(static_cast<std::int64_t>(j) % padded_w, padded_w);
        const bool together =
            iy / side == jy / side && ix / side == jx / side &&
            wrapped(static_cast<std::int64_t>(i) / padded_w) == wrapped(static_cast<std::int64_t>(j) / padded_w) &&
            wrapped(static_cast<std::int64_t>(i) % padded_w) == wrapped(static_cast<std::int64_t>(j) % padded_w);
        if (together) {
          double dot = 0.0;
          for (std::size_t d = h * width; d < (h + 1) * width; ++d) {
            dot += q(i, d) * k(j, d);
          }
          const auto row = static_cast<std::size_t>((iy - jy + side - 1) * (2 * side - 1) + ix - jx + side - 1);
          weights[j] = std::exp(dot / std::sqrt(static_cast<double>(width)) + table(row, h));
          total += weights[j];
        }
      }
      for (std::size_t d = h * width; d < (h + 1) * width; ++d) {
        for (std::size_t j = 0; j < padded.rows; ++j) {
          mixed(i, d) += weights[j] / total * v(j, d);
        }
      }
    }
  }
  const Matrix y = product(mixed, run.given("wo"));
  Matrix out(x.rows, x.columns);
  for (std::int64_t t = 0; t < grid.height * grid.width; ++t) {
    for (std::size_t c = 0; c < x.columns; ++c) {
      out(static_cast<std::size_t>(t), c) = y(static_cast<std::size_t>(t / grid.width * padded_w + t % grid.width), c);
    }
  }
  return out;
}

} // namespace

TEST_CASE("window attention equals its definition, shifted, padded and both") {
  for (const char* id :
       {"variant=window:batch=2:grid=4x4:dim=8:heads=2:window=2",
        "variant=window:batch=2:grid=4x6:dim=8:heads=2:window=2:shift=1",
        "variant=window:grid=3x5:dim=8:heads=2:window=2", "variant=window:grid=5x3:dim=8:heads=2:window=3:shift=1"}) {
    for (const char* plan : {"eager", "fused"}) {
      INFO(id << " " << plan);
      const Case run(id, plan);
      const auto batch = static_cast<std::size_t>(run.integer("batch"));
      const std::size_t tokens = run.given("x").rows / batch;
      for (std::size_t b = 0; b < batch; ++b) {
        CHECK(difference(rows_of(run.result("y"), b * tokens, tokens),
                         expected_of(run, rows_of(run.given("x"), b * tokens, tokens))) < 1e-10);
      }
    }
  }
}

TEST_CASE("a window that covers the grid is mha with a bias, and mha where the bias is zero") {
  Case window("variant=window:grid=3x3:dim=8:heads=2:window=3");
  window.set("relative_bias", Matrix(25, 2));
  Case mha("variant=mha:grid=3x3:dim=8:heads=2");
  CHECK(difference(window.result("y"), mha.result("y")) < 1e-12);
}
