// The variant (phi alone) and the layout (blocks that reuse) share the name, the paper and this file.
#include "operators/core/cost.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/layer_oracle.hpp"

using namespace attnprof::testing;

namespace {

/// Phi on the patches of one image; `at` is the prefix of its weights.
Matrix phi(const Case& run, const Matrix& z, const std::string& at) {
  const auto grid = run.config().grid();
  const auto h = static_cast<std::size_t>(grid.height);
  const auto w = static_cast<std::size_t>(grid.width);
  const auto kernel = static_cast<std::size_t>(run.integer("kernel"));
  Matrix y = mapped(linear(z, run.given(at + "w1"), run.vector(at + "b1")), gelu);
  y = mapped(depthwise(y, h, w, run.given(at + "dw"), kernel, run.vector(at + "db")), gelu);
  y = linear(y, run.given(at + "w2"), run.vector(at + "b2"));
  const std::vector<double> taps = run.vector(at + "eca");
  std::vector<double> mean(y.columns, 0.0);
  for (std::size_t i = 0; i < y.rows; ++i) {
    for (std::size_t c = 0; c < y.columns; ++c) {
      mean[c] += y(i, c) / static_cast<double>(y.rows);
    }
  }
  for (std::size_t c = 0; c < y.columns; ++c) {
    double gate = 0.0;
    for (std::size_t u = 0; u < taps.size(); ++u) {
      const std::ptrdiff_t from = static_cast<std::ptrdiff_t>(c + u) - static_cast<std::ptrdiff_t>(taps.size() / 2);
      gate += from >= 0 && from < static_cast<std::ptrdiff_t>(y.columns)
                  ? taps[u] * mean[static_cast<std::size_t>(from)]
                  : 0.0;
    }
    for (std::size_t i = 0; i < y.rows; ++i) {
      y(i, c) /= 1.0 + std::exp(-gate);
    }
  }
  return y;
}

std::int64_t macs(const std::string& id) {
  return attnprof::operators::cost_of(
             attnprof::operators::build(attnprof::operators::resolve(attnprof::operators::parse_case_id(id))))
      .totals.work.macs.value();
}

} // namespace

TEST_CASE("phi equals plain loops, and a class token passes it by") {
  for (const char* plan : {"eager", "fused"}) {
    const Case plain("variant=skipat:batch=2:grid=3x4:dim=6:kernel=3", plan);
    for (std::size_t b = 0; b < 2; ++b) {
      CHECK(difference(rows_of(plain.result("y"), b * 12, 12), phi(plain, rows_of(plain.given("x"), b * 12, 12), "")) <
            1e-12);
    }
    const Case cls("variant=skipat:grid=3x3:seq_len=10:dim=4:cls_token=true:expansion=0.5", plan);
    CHECK(difference(rows_of(cls.result("y"), 0, 1), rows_of(cls.given("x"), 0, 1)) == 0.0);
    CHECK(difference(rows_of(cls.result("y"), 1, 9), phi(cls, rows_of(cls.given("x"), 1, 9), "")) < 1e-12);
  }
}

TEST_CASE("a depthwise phi equals plain loops and an identity phi moves its input") {
  for (const char* plan : {"eager", "fused"}) {
    const Case dwc("variant=skipat:grid=3x3:dim=4:phi=dwc:kernel=3", plan);
    CHECK(difference(dwc.result("y"), depthwise(dwc.given("x"), 3, 3, dwc.given("dw"), 3, dwc.vector("db"))) < 1e-12);
    const Case identity("variant=skipat:grid=3x3:dim=4:phi=identity", plan);
    CHECK(difference(identity.result("y"), identity.given("x")) == 0.0);
    const Case conv("variant=skipat:grid=1x1:seq_len=1:dim=4:phi=conv:kernel=1", plan);
    CHECK(difference(conv.result("y"), linear(conv.given("x"), transposed(conv.given("w")), conv.vector("b"))) < 1e-12);
  }
}

TEST_CASE("a chain of skipped blocks reads the mixer's output, then each phi's") {
  for (const char* plan : {"eager", "fused"}) {
    const Case run("layout=skipat:variant=mha:heads=1:grid=2x3:dim=6:depth=3:skip=1-2:mlp_ratio=1:kernel=3", plan);
    const auto block = [&](const Matrix& x, const Matrix& mixed, const std::string& at) {
      const Matrix after = sum(x, mixed);
      const Matrix normed = layer_norm(after, run.vector(at + "ln2.gamma"), run.vector(at + "ln2.beta"), 1e-5);
      const Matrix inner = mapped(linear(normed, run.given(at + "ffn.w1"), run.vector(at + "ffn.b1")), gelu);
      return sum(after, linear(inner, run.given(at + "ffn.w2"), run.vector(at + "ffn.b2")));
    };
    Matrix x = run.given("x");
    const Matrix normed = layer_norm(x, run.vector("block0.ln1.gamma"), run.vector("block0.ln1.beta"), 1e-5);
    const auto project = [&](const char* name) {
      return product(normed, run.given(std::string("block0.attn.") + name));
    };
    Matrix mixed = product(attend(project("wq"), project("wk"), project("wv"), 1.0 / std::sqrt(6.0), no_mask()),
                           run.given("block0.attn.wo"));
    x = block(x, mixed, "block0.");
    mixed = phi(run, mixed, "block1.phi.");
    x = block(x, mixed, "block1.");
    mixed = phi(run, mixed, "block2.phi.");
    CHECK(difference(run.result("y"), block(x, mixed, "block2.")) < 1e-10);
  }
}

TEST_CASE("an identity phi removes exactly the mixer's work") {
  const std::string standard = "layout=standard:variant=mha:grid=4x4:dim=12:heads=3:depth=";
  const std::string skipping = "layout=skipat:variant=mha:grid=4x4:dim=12:heads=3:phi=identity:depth=";
  CHECK(macs(standard + "4") - macs(skipping + "4:skip=1,3") == 2 * macs("variant=mha:grid=4x4:dim=12:heads=3"));
}

TEST_CASE("skip lists are read, shortened and refused with the reason") {
  const auto skip = [](const std::string& text) {
    return attnprof::operators::resolve(
               attnprof::operators::parse_case_id("layout=skipat:grid=2x2:dim=12:skip=" + text))
        .text("skip");
  };
  CHECK(skip("3,4,5,6,7,8") == "3-8");
  CHECK(skip("9,3,5,7") == "3,5,7,9");
  CHECK_THROWS_WITH(skip("0-3"), Catch::Contains("nothing to reuse"));
  CHECK_THROWS_WITH(skip("3-12"), Catch::Contains("--depth 12"));
  for (const char* text : {"8-3", "a", "3,,5", "3-", "-3", "3,"}) {
    CHECK_THROWS_WITH(skip(text), Catch::Contains(text));
  }
}

TEST_CASE("reuse of attention weights: a skipped block computes values and output under the weights before it") {
  for (const char* plan : {"eager", "fused"}) {
    const Case run("layout=skipat:variant=mha:heads=1:grid=2x3:dim=4:depth=2:skip=1:reuse=weights:mlp_ratio=1", plan);
    const auto normed = [&](const Matrix& x, const std::string& name) {
      return layer_norm(x, run.vector(name + "gamma"), run.vector(name + "beta"), 1e-5);
    };
    const auto ffn = [&](const Matrix& x, const std::string& at) {
      const Matrix y =
          mapped(linear(normed(x, at + "ln2."), run.given(at + "ffn.w1"), run.vector(at + "ffn.b1")), gelu);
      return sum(x, linear(y, run.given(at + "ffn.w2"), run.vector(at + "ffn.b2")));
    };
    const Matrix first = normed(run.given("x"), "block0.ln1.");
    const Matrix q = product(first, run.given("block0.attn.wq"));
    const Matrix k = product(first, run.given("block0.attn.wk"));
    const auto mixed = [&](const Matrix& x, const std::string& at) {
      return product(attend(q, k, product(x, run.given(at + "attn.wv")), 0.5, no_mask()), run.given(at + "attn.wo"));
    };
    Matrix x = ffn(sum(run.given("x"), mixed(first, "block0.")), "block0.");
    x = ffn(sum(x, mixed(normed(x, "block1.ln1."), "block1.")), "block1.");
    CHECK(difference(run.result("y"), x) < 1e-10);
  }
}

TEST_CASE("reuse of attention weights saves the projections of queries and keys and their product") {
  const std::string blocks = "layout=skipat:variant=mha:heads=2:grid=4x4:dim=8:depth=3:mlp_ratio=1:skip=1-2";
  const std::int64_t n = 16;
  const std::int64_t d = 8;
  const std::int64_t all = macs("layout=standard:variant=mha:heads=2:grid=4x4:dim=8:depth=3:mlp_ratio=1");
  CHECK(all - macs(blocks + ":reuse=weights") == 2 * (2 * n * d * d + n * n * d));
}
