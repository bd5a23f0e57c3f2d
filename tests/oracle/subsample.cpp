#include "tests/support/catch.hpp"
#include "tests/support/naive_maps.hpp"

using namespace attnprof::testing;

namespace {

Map plus(const Map& a, const Map& b) {
  return {a.height, a.width, sum(a.pixels, b.pixels)};
}

Map rectified(Map x) {
  x.pixels = attnprof::testing::rectified(x.pixels);
  return x;
}

/// x + dwconv(x), then x + fc2(relu(fc1(x))).
Map local_block(const Case& run, const std::string& side, Map x) {
  x = plus(x, convolved(run, side + "_dwconv.dwconv", x, 3, 1, true));
  const Map wide = rectified(convolved(run, side + "_ffn.fc1", x, 1, 1, false));
  return plus(x, convolved(run, side + "_ffn.fc2", wide, 1, 1, false));
}

Matrix affine(const Case& run, const std::string& name, const Matrix& x) {
  Matrix y = product(x, run.given(name + ".w"));
  const std::vector<double> bias = run.vector(name + ".b");
  for (std::size_t c = 0; c < y.columns; ++c) {
    y(0, c) += bias[c];
  }
  return y;
}

/// x * sigmoid(expand(relu(reduce(mean of x)))).
Map squeeze_excited(const Case& run, Map x) {
  Matrix mean(1, x.pixels.columns);
  for (std::size_t p = 0; p < x.pixels.rows; ++p) {
    for (std::size_t c = 0; c < x.pixels.columns; ++c) {
      mean(0, c) += x.pixels(p, c) / static_cast<double>(x.pixels.rows);
    }
  }
  const Matrix narrow = attnprof::testing::rectified(affine(run, "merge.squeeze.reduce", mean));
  const Matrix gate = affine(run, "merge.squeeze.expand", narrow);
  for (std::size_t p = 0; p < x.pixels.rows; ++p) {
    for (std::size_t c = 0; c < x.pixels.columns; ++c) {
      x.pixels(p, c) /= 1.0 + std::exp(-gate(0, c));
    }
  }
  return x;
}

Map expected_pick(const Case& run, Map x) {
  x = local_block(run, "pre", x);
  x = rectified(convolved(run, "merge.conv1", x, 1, 1, false));
  x = rectified(convolved(run, "merge.dwconv", x, 3, 2, true));
  x = convolved(run, "merge.conv3", squeeze_excited(run, x), 1, 1, false);
  return local_block(run, "post", x);
}

} // namespace

TEST_CASE("sub-sampling equals its definition, norms folded and not, on even and odd maps") {
  for (const char* id : {"layout=subsample:batch=2:grid=2x4:dim=6:out_dim=5",
                         "layout=subsample:grid=3x3:dim=8:folded=true", "layout=subsample:grid=1x1:dim=1"}) {
    for (const char* plan : {"eager", "fused"}) {
      const Case run(id, plan);
      const auto grid = run.config().grid();
      const auto height = static_cast<std::size_t>(grid.height);
      const auto width = static_cast<std::size_t>(grid.width);
      for (std::size_t b = 0; b < static_cast<std::size_t>(run.integer("batch")); ++b) {
        CAPTURE(id, plan, b);
        const Map expected = expected_pick(run, map_of(run.given("x"), b, height, width));
        const Map actual = map_of(run.result("y"), b, expected.height, expected.width);
        CHECK(difference(actual.pixels, expected.pixels) < 1e-9);
      }
    }
  }
}
