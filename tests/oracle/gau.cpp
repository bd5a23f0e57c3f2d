#include "tests/support/catch.hpp"
#include "tests/support/gated_unit_oracle.hpp"

using namespace attnprof::testing;

TEST_CASE("gau equals plain loops for each scaling, causal and not") {
  for (const char* id :
       {"variant=gau:batch=2:seq_len=5:dim=6:qk_dim=3", "variant=gau:seq_len=6:dim=4:qk_dim=2:scaling=n2:causal=true",
        "variant=gau:seq_len=6:dim=4:qk_dim=2:expansion=1.5:causal=true",
        "variant=gau:seq_len=270:dim=2:qk_dim=2:expansion=1:causal=true"}) {
    check_gated_unit(id, [](const Case& run, const GatedParts& p) {
      const double n = static_cast<double>(p.z.rows);
      const double s = static_cast<double>(p.z.columns);
      const double factor = run.config().text("scaling") == "n2" ? 1.0 / (n * n) : 1.0 / (n * s);
      const bool causal = run.config().flag("causal");
      return squared_relu_mix(offset_scaled(run, p.z, "q"), offset_scaled(run, p.z, "k"), p.v, factor, causal);
    });
  }
}

TEST_CASE("gau with softmax weights equals plain loops") {
  check_gated_unit("variant=gau:seq_len=6:dim=4:qk_dim=4:weights=softmax:causal=true",
                   [](const Case& run, const GatedParts& p) {
                     return attend(offset_scaled(run, p.z, "q"), offset_scaled(run, p.z, "k"), p.v, 0.5,
                                   causal_mask(p.z.rows, p.z.rows));
                   });
}

TEST_CASE("a later token does not change earlier outputs of causal gau with a fixed length") {
  Case run("variant=gau:seq_len=6:dim=8:qk_dim=8:causal=true");
  const Matrix before = run.result("y");
  Matrix x = run.given("x");
  x(5, 0) += 1.0;
  run.set("x", x);
  CHECK(difference(rows_of(before, 0, 5), rows_of(run.result("y"), 0, 5)) == 0.0);
  CHECK(difference(before, run.result("y")) > 0.0);
}
