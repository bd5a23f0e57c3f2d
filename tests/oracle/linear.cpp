#include "tests/support/catch.hpp"
#include "tests/support/heads_oracle.hpp"
#include "tests/support/multi_head_oracle.hpp"

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
Matrix quadratic_form(const Case& run, const Matrix& q, const Matrix& k, const Matrix& v) {
  const std::string& name = run.config().text("features");
  return weighted_means(v, q.rows, run.config().flag("causal"), [&](std::size_t i, std::size_t j) {
    double weight = 0.0;
    for (std::size_t d = 0; d < q.columns; ++d) {
      weight += feature(name, q(i, d)) * feature(name, k(j, d));
    }
    return weight;
  });
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
      CHECK(difference_by_heads(run, [&](const Matrix& q, const Matrix& k, const Matrix& v) {
              return quadratic_form(run, q, k, v);
            }) < 1e-10);
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
