// Window by window and head by head from the definition.
#include "tests/support/catch.hpp"
#include "tests/support/naive_maps.hpp"

using namespace attnprof::testing;

namespace {

/// softmax(q kᵀ / sqrt(width) + bias of the tokens' absolute offsets) v inside one window.
Matrix attend_by_offset(const Matrix& q, const Matrix& k, const Matrix& v, std::size_t side, const Matrix& table,
                        std::size_t head) {
  Matrix out(q.rows, v.columns);
  for (std::size_t i = 0; i < q.rows; ++i) {
    std::vector<double> weights(k.rows);
    double total = 0.0;
    for (std::size_t j = 0; j < k.rows; ++j) {
      double dot = 0.0;
      for (std::size_t d = 0; d < q.columns; ++d) {
        dot += q(i, d) * k(j, d);
      }
      const auto far = [](std::size_t a, std::size_t b) { return a > b ? a - b : b - a; };
      const std::size_t offset = far(i / side, j / side) * side + far(i % side, j % side);
      weights[j] = std::exp(dot / std::sqrt(static_cast<double>(q.columns)) + table(offset, head));
      total += weights[j];
    }
    for (std::size_t j = 0; j < k.rows; ++j) {
      for (std::size_t d = 0; d < v.columns; ++d) {
        out(i, d) += weights[j] / total * v(j, d);
      }
    }
  }
  return out;
}

Matrix window_output(const Case& run, const Map& window) {
  const auto heads = static_cast<std::size_t>(run.integer("heads"));
  const auto width = static_cast<std::size_t>(run.integer("qk_dim"));
  const auto kernel = static_cast<std::size_t>(run.integer("query_kernel"));
  const std::size_t slice = window.pixels.columns / heads;
  Matrix mixed(window.pixels.rows, window.pixels.columns);
  Matrix previous(window.pixels.rows, slice);
  for (std::size_t head = 0; head < heads; ++head) {
    const std::string prefix = "head" + std::to_string(head) + ".";
    const Matrix input = sum(columns_of(window.pixels, head * slice, slice), previous);
    const Matrix qkv = convolved(run, prefix + "qkv_proj", {window.height, window.width, input}, 1, 1, false).pixels;
    const Map queries{window.height, window.width, columns_of(qkv, 0, width)};
    const Matrix q = convolved(run, prefix + "q_dwconv", queries, kernel, 1, true).pixels;
    previous = attend_by_offset(q, columns_of(qkv, width, width), columns_of(qkv, 2 * width, slice), window.width,
                                run.given("bias_table"), head);
    put_columns(mixed, head * slice, previous);
  }
  return convolved(run, "out_proj", {window.height, window.width, rectified(mixed)}, 1, 1, false).pixels;
}

/// The tokens of one image, cut into windows padded with zeros at the bottom and right.
Matrix expected_of(const Case& run, const Map& x) {
  const auto side = static_cast<std::size_t>(run.integer("window"));
  Matrix y(x.pixels.rows, x.pixels.columns);
  const auto for_real = [&](std::size_t top, std::size_t left, const auto& visit) {
    for (std::size_t t = 0; t < side * side; ++t) {
      const std::size_t row = top + t / side;
      const std::size_t column = left + t % side;
      for (std::size_t c = 0; row < x.height && column < x.width && c < x.pixels.columns; ++c) {
        visit(t, row * x.width + column, c);
      }
    }
  };
  for (std::size_t top = 0; top < x.height; top += side) {
    for (std::size_t left = 0; left < x.width; left += side) {
      Map window{side, side, Matrix(side * side, x.pixels.columns)};
      for_real(top, left, [&](std::size_t t, std::size_t at, std::size_t c) { window.pixels(t, c) = x.pixels(at, c); });
      const Matrix out = window_output(run, window);
      for_real(top, left, [&](std::size_t t, std::size_t at, std::size_t c) { y(at, c) = out(t, c); });
    }
  }
  return y;
}

} // namespace

TEST_CASE("EfficientViT's attention equals its definition, windows padded, norms folded and not") {
  for (const char* id : {"variant=cga_window:batch=2:grid=4x4:dim=8:heads=2:qk_dim=3:window=2:query_kernel=3",
                         "variant=cga_window:grid=3x5:dim=6:heads=3:qk_dim=2:window=2:folded=true",
                         "variant=cga_window:grid=3x3:dim=4:heads=1:qk_dim=2:window=7",
                         "variant=cga_window:grid=2x3:dim=4:heads=2:qk_dim=2:window=2:query_kernel=7"}) {
    for (const char* plan : {"eager", "fused"}) {
      const Case run(id, plan);
      const auto grid = run.config().grid();
      const auto height = static_cast<std::size_t>(grid.height);
      const auto width = static_cast<std::size_t>(grid.width);
      for (std::size_t b = 0; b < static_cast<std::size_t>(run.integer("batch")); ++b) {
        CAPTURE(id, plan, b);
        const Matrix expected = expected_of(run, map_of(run.given("x"), b, height, width));
        CHECK(difference(map_of(run.result("y"), b, height, width).pixels, expected) < 1e-9);
      }
    }
  }
}

TEST_CASE("without bias, ReLU's reach and a wide kernel, one window is the plain cascade") {
  const std::string sizes = ":grid=3x3:dim=8:heads=2:qk_dim=3";
  Case windowed("variant=cga_window:query_kernel=1:folded=true:window=3" + sizes);
  Case plain("variant=cga" + sizes);
  const Matrix bias(9, 2);
  windowed.set("bias_table", bias);
  Matrix values(8, 4);
  for (std::size_t head = 0; head < 2; ++head) {
    const std::string prefix = "head" + std::to_string(head) + ".";
    Matrix qkv(4, 10);
    put_columns(qkv, 0, rows_of(plain.given("wq"), head * 4, 4));
    put_columns(qkv, 3, rows_of(plain.given("wk"), head * 4, 4));
    Matrix v = rows_of(plain.given("wv"), head * 4, 4);
    for (double& one : v.values) {
      one = std::abs(one); // values of non-negative tokens are then non-negative, where ReLU does nothing
    }
    put_columns(qkv, 6, v);
    for (std::size_t i = 0; i < v.values.size(); ++i) {
      values.values[head * v.values.size() + i] = v.values[i];
    }
    windowed.set(prefix + "qkv_proj.w", qkv);
    windowed.set(prefix + "qkv_proj.b", Matrix(1, 10));
    Matrix ones(3, 1);
    ones.values.assign(3, 1.0);
    windowed.set(prefix + "q_dwconv.w", ones);
    windowed.set(prefix + "q_dwconv.b", Matrix(1, 3));
  }
  Matrix x = plain.given("x");
  for (double& one : x.values) {
    one = std::abs(one);
  }
  plain.set("wv", values);
  plain.set("x", x);
  windowed.set("x", x);
  windowed.set("out_proj.w", plain.given("wo"));
  windowed.set("out_proj.b", Matrix(1, 8));
  CHECK(difference(windowed.result("y"), plain.result("y")) < 1e-12);
}

TEST_CASE("the windowed cascade refuses even kernels") {
  REQUIRE_THROWS_WITH(Case("variant=cga_window:grid=3x3:dim=4:heads=1:query_kernel=2"),
                      Catch::Contains("--query-kernel 2"));
}
