// A decoder with grouped key heads, rotary positions, RMSNorm and a gated network, from its definition; and relations
// between the passes of the others.
#include "tests/support/catch.hpp"
#include "tests/support/layer_oracle.hpp"
#include "tests/support/naive.hpp"
#include "tests/support/paths.hpp"

using namespace attnprof::testing;

namespace {

std::string model(const std::string& name) {
  return "model=" + (attnprof::tests::test_files_dir() / "decoders" / (name + ".json")).string();
}

Matrix rms_norm(Matrix x, const std::vector<double>& gamma, double eps) {
  for (std::size_t i = 0; i < x.rows; ++i) {
    double square = 0.0;
    for (std::size_t d = 0; d < x.columns; ++d) {
      square += x(i, d) * x(i, d) / static_cast<double>(x.columns);
    }
    for (std::size_t d = 0; d < x.columns; ++d) {
      x(i, d) *= gamma[d] / std::sqrt(square + eps);
    }
  }
  return x;
}

/// Channel d of a head turns with channel d + width/2 by position / 10000^(2 d / width).
Matrix rotated(const Matrix& x, std::size_t width) {
  Matrix out = x;
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t c = 0; c < x.columns; ++c) {
      const std::size_t d = c % width;
      const std::size_t pair = d % (width / 2);
      const double angle =
          static_cast<double>(i) * std::pow(10000.0, -2.0 * static_cast<double>(pair) / static_cast<double>(width));
      const double other = d < width / 2 ? -x(i, c + width / 2) : x(i, c - width / 2);
      out(i, c) = x(i, c) * std::cos(angle) + other * std::sin(angle);
    }
  }
  return out;
}

Matrix attention(const Case& run, const Matrix& x, const std::string& at) {
  constexpr std::size_t kHeads = 4;
  constexpr std::size_t kKeyHeads = 2;
  const Matrix q = product(x, run.given(at + "wq"));
  const std::size_t width = q.columns / kHeads;
  const Matrix turned_q = rotated(q, width);
  const Matrix k = rotated(product(x, run.given(at + "wk")), width);
  const Matrix v = product(x, run.given(at + "wv"));
  Matrix mixed(x.rows, q.columns);
  for (std::size_t h = 0; h < kHeads; ++h) {
    const std::size_t key = h / (kHeads / kKeyHeads) * width;
    put_columns(mixed, h * width,
                attend(columns_of(turned_q, h * width, width), columns_of(k, key, width), columns_of(v, key, width),
                       1.0 / std::sqrt(static_cast<double>(width)), causal_mask(x.rows, x.rows)));
  }
  return product(mixed, run.given(at + "wo"));
}

Matrix network(const Case& run, const Matrix& x, const std::string& at) {
  Matrix gate = mapped(product(x, run.given(at + "gate_proj.w")), silu);
  const Matrix up = product(x, run.given(at + "up_proj.w"));
  for (std::size_t i = 0; i < gate.values.size(); ++i) {
    gate.values[i] *= up.values[i];
  }
  return product(gate, run.given(at + "down_proj.w"));
}

} // namespace

TEST_CASE("a Llama-like decoder equals plain loops") {
  for (const char* plan : {"eager", "fused"}) {
    const Case run(model("llama") + ":seq_len=5:logits=all", plan);
    const Matrix ids = run.given("token_ids");
    const Matrix table = run.given("embedding.tokens");
    Matrix x(5, table.columns);
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t d = 0; d < x.columns; ++d) {
        x(i, d) = table(static_cast<std::size_t>(ids.values[i]), d);
      }
    }
    for (const std::string block : {"block0.", "block1."}) {
      x = sum(x, attention(run, rms_norm(x, run.vector(block + "mixer.norm.gamma"), 1e-5), block + "mixer."));
      x = sum(x, network(run, rms_norm(x, run.vector(block + "ffn.norm.gamma"), 1e-5), block + "ffn."));
    }
    x = rms_norm(x, run.vector("head.norm.gamma"), 1e-5);
    // Rotary tables are stored in single precision.
    CHECK(difference(run.result("logits"), product(x, run.given("head.logits.w"))) < 1e-5);
  }
}

TEST_CASE("one new token gives the same logits as a prefill and as a decode step, latent attention included") {
  for (const char* name :
       {"llama", "gemma2", "mixtral", "qwen2_moe", "deepseek", "deepseek_v3", "bloom", "gpt2", "falcon"}) {
    INFO(name);
    const Case prefill(model(name) + ":phase=prefill:seq_len=1:past_len=5");
    const Case decode(model(name) + ":phase=decode:seq_len=1:past_len=5");
    CHECK(difference(prefill.result("logits"), decode.result("logits")) < 1e-9);
  }
}

TEST_CASE("a window's rolled cache does not change what the first tokens of a prefill see") {
  for (const char* name : {"gemma2", "gemma3"}) { // windows of 3
    INFO(name);
    const Matrix few = Case(model(name) + ":seq_len=3:logits=all").result("logits");
    const Matrix more = Case(model(name) + ":seq_len=7:logits=all").result("logits");
    CHECK(difference(rows_of(more, 0, 3), few) < 1e-9);
  }
}

TEST_CASE("the last row of all logits is the last token's") {
  for (const char* name : {"llama", "deepseek", "opt_projected", "gptj", "phi"}) {
    INFO(name);
    const Matrix all = Case(model(name) + ":seq_len=4:logits=all").result("logits");
    CHECK(difference(rows_of(all, 3, 1), Case(model(name) + ":seq_len=4").result("logits")) < 1e-9);
  }
}
