#include "tests/support/catch.hpp"
#include "tests/support/layer_oracle.hpp"

using namespace attnprof::testing;

TEST_CASE("ffn mlp equals plain loops for each activation") {
  double (*const functions[])(double) = {gelu, relu, silu};
  const char* names[] = {"gelu", "relu", "silu"};
  for (std::size_t i = 0; i < 3; ++i) {
    for (const char* plan : {"eager", "fused"}) {
      const Case run(std::string("layout=ffn:seq_len=5:dim=6:mlp_ratio=2.5:activation=") + names[i], plan);
      const Matrix inner = mapped(linear(run.given("x"), run.given("w1"), run.vector("b1")), functions[i]);
      CHECK(difference(run.result("y"), linear(inner, run.given("w2"), run.vector("b2"))) < 1e-12);
    }
  }
}

TEST_CASE("gated ffns equal plain loops") {
  for (const char* plan : {"eager", "fused"}) {
    for (const bool both : {true, false}) {
      const Case run(both ? "layout=ffn:seq_len=5:dim=6:ffn=glu" : "layout=ffn:seq_len=5:dim=6:ffn=swiglu", plan);
      Matrix gated = mapped(product(run.given("x"), run.given("wu")), silu);
      Matrix v = product(run.given("x"), run.given("wv"));
      v = both ? mapped(v, silu) : v;
      for (std::size_t i = 0; i < gated.values.size(); ++i) {
        gated.values[i] *= v.values[i];
      }
      CHECK(difference(run.result("y"), product(gated, run.given("wo"))) < 1e-12);
    }
  }
}

TEST_CASE("ffn mlp_dw convolves the expanded channels") {
  for (const char* plan : {"eager", "fused"}) {
    const Case run("layout=ffn:grid=3x4:dim=4:mlp_ratio=2:ffn=mlp_dw:kernel=3", plan);
    Matrix inner = mapped(linear(run.given("x"), run.given("w1"), run.vector("b1")), gelu);
    inner = mapped(depthwise(inner, 3, 4, run.given("dw"), 3, run.vector("db")), gelu);
    CHECK(difference(run.result("y"), linear(inner, run.given("w2"), run.vector("b2"))) < 1e-12);
  }
}
