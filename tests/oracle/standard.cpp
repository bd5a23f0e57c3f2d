#include "tests/support/catch.hpp"
#include "tests/support/layer_oracle.hpp"

using namespace attnprof::testing;

namespace {

/// One pre-norm block with one attention head, from its definition.
Matrix block(const Case& run, const Matrix& x, const std::string& at) {
  const auto v = [&](const char* name) { return run.vector(at + name); };
  const auto m = [&](const char* name) { return run.given(at + name); };
  const Matrix normed = layer_norm(x, v("ln1.gamma"), v("ln1.beta"), 1e-5);
  const Matrix mixed =
      attend(product(normed, m("attn.wq")), product(normed, m("attn.wk")), product(normed, m("attn.wv")),
             1.0 / std::sqrt(static_cast<double>(x.columns)), no_mask());
  const Matrix after = sum(x, product(mixed, m("attn.wo")));
  const Matrix inner =
      mapped(linear(layer_norm(after, v("ln2.gamma"), v("ln2.beta"), 1e-5), m("ffn.w1"), v("ffn.b1")), gelu);
  return sum(after, linear(inner, m("ffn.w2"), v("ffn.b2")));
}

} // namespace

TEST_CASE("standard blocks equal plain loops") {
  for (const char* plan : {"eager", "fused"}) {
    const Case run("layout=standard:variant=mha:seq_len=5:dim=6:heads=1:depth=2:mlp_ratio=2", plan);
    CHECK(difference(run.result("y"), block(run, block(run, run.given("x"), "block0."), "block1.")) < 1e-10);
  }
}
