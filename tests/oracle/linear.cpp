#include "tests/support/catch.hpp"
#include "tests/support/multi_head_oracle.hpp"
#include "tests/support/naive.hpp"

#include <algorithm>

using namespace attnprof::testing;

namespace {

double feature(const std::string& name, double x) {
  if (name == "relu") {
    return std::max(x, 0.0);
  }
  return name == "exp" || x < 0.0 ? std::exp(x) : x + 1.0;
}

/// The quadratic form: weights phi(q)·phi(k) normalised over the keys that are seen.
Matrix expected_of(const Case& run, const Matrix& x) {
  const auto heads = static_cast<std::size_t>(run.integer("heads"));
  const auto width = static_cast<std::size_t>(run.integer("head_dim"));
  const auto project = [&](const char* name) { return product(x, run.given(name)); };
  const Matrix q = project("wq");
  const Matrix k = project("wk");
  const Matrix v = project("wv");
  Matrix mixed(x.rows, heads * width);
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t i = 0; i < x.rows; ++i) {
      const std::size_t seen = run.config().flag("causal") ? i + 1 : x.rows;
      std::vector<double> weights(seen, 0.0);
      double total = 0.0;
      for (std::size_t j = 0; j < seen; ++j) {
        for (std::size_t d = h * width; d < (h + 1) * width; ++d) {
          const std::string& name = run.config().text("features");
          weights[j] += feature(name, q(i, d)) * feature(name, k(j, d));
        }
        total += weights[j];
      }
      for (std::size_t d = h * width; d < (h + 1) * width; ++d) {
        for (std::size_t j = 0; j < seen; ++j) {
          mixed(i, d) += weights[j] / total * v(j, d);
        }
      }
    }
  }
  return product(mixed, run.given("wo"));
}

} // namespace

TEST_CASE("linear attention equals its quadratic form") {
  for (const char* id :
       {"variant=linear:batch=2:seq_len=5:dim=12:heads=3", "variant=linear:seq_len=6:dim=8:heads=2:features=exp",
        "variant=linear:seq_len=9:dim=8:heads=2:causal=true:chunk=4",
        "variant=linear:seq_len=7:dim=8:heads=2:causal=true",
        "variant=linear:batch=2:seq_len=8:dim=8:heads=2:causal=true:chunk=2:features=exp"}) {
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

TEST_CASE("the chunk of causal linear attention does not change its result") {
  const Matrix one = Case("variant=linear:seq_len=9:dim=8:heads=2:causal=true:chunk=9").result("y");
  for (const char* chunk : {"1", "2", "4"}) {
    CHECK(difference(Case(std::string("variant=linear:seq_len=9:dim=8:heads=2:causal=true:chunk=") + chunk).result("y"),
                     one) < 1e-12);
  }
}

TEST_CASE("a later token does not change earlier outputs of causal linear-cost attention") {
  for (const char* id :
       {"variant=linear:dim=8:heads=2:chunk=3", "variant=performer:dim=8:heads=2:chunk=3:random_features=5",
        "variant=cosformer:dim=24:heads=1:chunk=3", "variant=mixed_chunk:dim=8:heads=2:chunk=3",
        "variant=flash:dim=8:qk_dim=4:chunk=3"}) {
    INFO(id);
    check_causality(id);
  }
}
