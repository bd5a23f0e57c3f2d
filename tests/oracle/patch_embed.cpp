#include "tests/support/catch.hpp"
#include "tests/support/naive_maps.hpp"

using namespace attnprof::testing;

namespace {

/// Each patch of 16x16 pixels flattened times one matrix [dim, 16 * 16 * 3], plus a bias.
Matrix plain_patches(const Case& run, const Map& image) {
  const Matrix w = run.given("patches.w"); // [dim * 16 * 16, 3]
  const std::vector<double> bias = run.vector("patches.b");
  const std::size_t columns = image.width / 16;
  Matrix y(image.height / 16 * columns, bias.size());
  for (std::size_t p = 0; p < y.rows; ++p) {
    for (std::size_t o = 0; o < y.columns; ++o) {
      y(p, o) = bias[o];
      for (std::size_t pixel = 0; pixel < 256; ++pixel) {
        const std::size_t at = (p / columns * 16 + pixel / 16) * image.width + p % columns * 16 + pixel % 16;
        for (std::size_t c = 0; c < 3; ++c) {
          y(p, o) += image.pixels(at, c) * w(o * 256 + pixel, c);
        }
      }
    }
  }
  return y;
}

Matrix overlapping(const Case& run, Map x) {
  for (int i = 1; i <= 4; ++i) {
    x = convolved(run, "patches.conv" + std::to_string(i), x, 3, 2, false);
    x.pixels = i < 4 ? rectified(x.pixels) : x.pixels;
  }
  return x.pixels;
}

} // namespace

TEST_CASE("patch embeddings equal their definition, plain and overlapping") {
  for (const char* id :
       {"layout=patch_embed:batch=2:grid=2x1:dim=4", "layout=patch_embed:grid=1x2:dim=8:patches=overlapping",
        "layout=patch_embed:batch=2:grid=1x1:dim=16:patches=overlapping:folded=true"}) {
    for (const char* plan : {"eager", "fused"}) {
      const Case run(id, plan);
      const auto grid = run.config().grid();
      const auto height = static_cast<std::size_t>(grid.height);
      const auto width = static_cast<std::size_t>(grid.width);
      for (std::size_t b = 0; b < static_cast<std::size_t>(run.integer("batch")); ++b) {
        CAPTURE(id, plan, b);
        const Map image = map_of(run.given("x"), b, 16 * height, 16 * width);
        const Matrix expected =
            run.config().text("patches") == "plain" ? plain_patches(run, image) : overlapping(run, image);
        CHECK(difference(map_of(run.result("y"), b, height, width).pixels, expected) < 1e-9);
      }
    }
  }
}

TEST_CASE("patch embeddings refuse what they cannot build") {
  REQUIRE_THROWS_WITH(Case("layout=patch_embed:grid=1x1:dim=12:patches=overlapping"), Catch::Contains("12"));
  REQUIRE_THROWS_WITH(Case("layout=patch_embed:grid=1x1:dim=8:folded=true"), Catch::Contains("--patches plain"));
}
