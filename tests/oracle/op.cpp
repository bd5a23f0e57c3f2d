#include "tests/support/catch.hpp"
#include "tests/support/naive.hpp"

using namespace attnprof::testing;

TEST_CASE("layout op is the mixer and nothing else") {
  const Case run("variant=mha:seq_len=5:dim=8:heads=2");
  // No residual: a mixer whose output projection is zero gives zero.
  Case zero = run;
  Matrix wo = run.given("wo");
  wo.values.assign(wo.values.size(), 0.0);
  zero.set("wo", wo);
  CHECK(difference(zero.result("y"), Matrix(5, 8)) == 0.0);
  CHECK(difference(run.result("y"), Matrix(5, 8)) > 0.0);
}
