#include "tests/support/catch.hpp"
#include "tests/support/layer_oracle.hpp"

using namespace attnprof::testing;

namespace {

Matrix side(const Case& run, Matrix x, const std::string& name, std::size_t n_ffn) {
  for (std::size_t i = 0; i < n_ffn; ++i) {
    const std::string at = "block0." + name + "." + std::to_string(i) + ".";
    x = sum(x, depthwise(x, 2, 3, run.given(at + "dw"), 3, run.vector(at + "db")));
    const Matrix inner = mapped(linear(x, run.given(at + "w1"), run.vector(at + "b1")), relu);
    x = sum(x, linear(inner, run.given(at + "w2"), run.vector(at + "b2")));
  }
  return x;
}

} // namespace

TEST_CASE("a sandwich block equals plain loops") {
  for (const char* plan : {"eager", "fused"}) {
    const Case run("layout=sandwich:variant=mha:grid=2x3:dim=6:heads=1:n_ffn=2", plan);
    Matrix x = side(run, run.given("x"), "pre", 2);
    const auto w = [&](const char* name) { return run.given(std::string("block0.attn.") + name); };
    const Matrix mixed =
        attend(product(x, w("wq")), product(x, w("wk")), product(x, w("wv")), 1.0 / std::sqrt(6.0), no_mask());
    x = sum(x, product(mixed, w("wo")));
    CHECK(difference(run.result("y"), side(run, x, "post", 2)) < 1e-10);
  }
}

TEST_CASE("a sandwich without FFNs is its mixer with a residual") {
  const Case run("layout=sandwich:variant=cga:grid=2x3:dim=8:heads=2:qk_dim=3:n_ffn=0");
  Case mixer("variant=cga:grid=2x3:dim=8:heads=2:qk_dim=3");
  for (const char* name : {"wq", "wk", "wv", "wo"}) {
    mixer.set(name, run.given(std::string("block0.attn.") + name));
  }
  CHECK(difference(run.result("y"), sum(run.given("x"), mixer.result("y"))) < 1e-12);
}
