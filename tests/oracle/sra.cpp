#include "tests/support/catch.hpp"
#include "tests/support/spatial_oracle.hpp"

using namespace attnprof::testing;

TEST_CASE("spatial-reduction attention equals its definition") {
  for (const char* id : {"variant=sra:batch=2:grid=4x6:dim=8:heads=2:reduction=2", "variant=sra:grid=3x3:dim=6:heads=3",
                         "variant=sra:grid=8x8:dim=4:heads=1:reduction=4"}) {
    for (const char* plan : {"eager", "fused"}) {
      INFO(id << " " << plan);
      const Case run(id, plan);
      const auto batch = static_cast<std::size_t>(run.integer("batch"));
      const std::size_t tokens = run.given("x").rows / batch;
      for (std::size_t b = 0; b < batch; ++b) {
        CHECK(difference(rows_of(run.result("y"), b * tokens, tokens),
                         spatial_reduction(run, "", rows_of(run.given("x"), b * tokens, tokens))) < 1e-10);
      }
    }
  }
}

TEST_CASE("spatial-reduction attention without a reduction is multi-head attention") {
  using attnprof::operators::Config;
  const Case sra("variant=sra:grid=3x3:dim=6:heads=3");
  Case mha("variant=mha:grid=3x3:dim=6:heads=3");
  mha.set("x", sra.given("x"));
  mha.set("wq", sra.given("wq"));
  mha.set("wk", columns_of(sra.given("wkv"), 0, 6));
  mha.set("wv", columns_of(sra.given("wkv"), 6, 6));
  mha.set("wo", sra.given("wo"));
  mha.run();
  CHECK(difference(mha.result("y"), sra.result("y")) < 1e-12);
}
