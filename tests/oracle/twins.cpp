#include "tests/support/catch.hpp"
#include "tests/support/heads_oracle.hpp"
#include "tests/support/layer_oracle.hpp"
#include "tests/support/spatial_oracle.hpp"

using namespace attnprof::testing;

namespace {

class Block {
 public:
  Block(const Case& run, std::string at) : run_(run), at_(std::move(at)) {}

  [[nodiscard]] Matrix operator()(const Matrix& x) const {
    Matrix y = sum(x, local(normed(x, "ln1.")));
    y = sum(y, ffn(normed(y, "ln2."), "local_ffn."));
    y = sum(y, spatial_reduction(run_, at_ + "global.", normed(y, "ln3.")));
    return sum(y, ffn(normed(y, "ln4."), "global_ffn."));
  }

 private:
  [[nodiscard]] Matrix normed(const Matrix& x, const std::string& name) const {
    return layer_norm(x, run_.vector(at_ + name + "gamma"), run_.vector(at_ + name + "beta"), 1e-5);
  }

  [[nodiscard]] Matrix ffn(const Matrix& x, const std::string& name) const {
    const Matrix inner = mapped(linear(x, run_.given(at_ + name + "w1"), run_.vector(at_ + name + "b1")), gelu);
    return linear(inner, run_.given(at_ + name + "w2"), run_.vector(at_ + name + "b2"));
  }

  /// Tokens see those of their own window.
  [[nodiscard]] Matrix local(const Matrix& x) const {
    const auto heads = static_cast<std::size_t>(run_.integer("heads"));
    const auto side = static_cast<std::size_t>(run_.integer("window"));
    const auto map_width = static_cast<std::size_t>(run_.config().grid().width);
    const std::size_t width = x.columns / heads;
    const auto window = [&](std::size_t t) { return t / map_width / side * map_width + t % map_width / side; };
    const auto project = [&](const char* name) { return product(x, run_.given(at_ + "local." + name)); };
    Matrix mixed(x.rows, x.columns);
    for (std::size_t h = 0; h < heads; ++h) {
      put_columns(mixed, h * width,
                  attend(head_of(project("wq"), h, width), head_of(project("wk"), h, width),
                         head_of(project("wv"), h, width), 1.0 / std::sqrt(static_cast<double>(width)),
                         [&](std::size_t i, std::size_t j) { return window(i) == window(j); }));
    }
    return product(mixed, run_.given(at_ + "local.wo"));
  }

  const Case& run_;
  std::string at_;
};

} // namespace

TEST_CASE("twins equals attention in windows and on the reduced map, each with its network") {
  for (const char* plan : {"eager", "fused"}) {
    const Case run("layout=twins:grid=4x6:dim=4:heads=2:window=2:reduction=2:depth=2:mlp_ratio=2", plan);
    const Matrix y = Block(run, "block1.")(Block(run, "block0.")(run.given("x")));
    CHECK(difference(run.result("y"), y) < 1e-10);
  }
}
