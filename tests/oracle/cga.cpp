#include "tests/support/catch.hpp"
#include "tests/support/grouped_heads_oracle.hpp"

using namespace attnprof::testing;

TEST_CASE("cascaded group attention equals plain loops") {
  for (const char* id :
       {"variant=cga:batch=2:seq_len=5:dim=12:heads=3:qk_dim=2", "variant=cga:seq_len=6:dim=8:heads=4:qk_dim=3"}) {
    check_grouped_heads(id, true);
  }
}

TEST_CASE("a cascade of one head is group attention") {
  CHECK(difference(Case("variant=cga:seq_len=5:dim=8:heads=1:qk_dim=3").result("y"),
                   Case("variant=group:seq_len=5:dim=8:heads=1:qk_dim=3").result("y")) == 0.0);
}

TEST_CASE("the cascade refuses a value width other than dim/heads") {
  REQUIRE_THROWS_WITH(Case("variant=cga:seq_len=5:dim=192:heads=4:v_dim=16"),
                      Catch::Contains("--v-dim 16") && Catch::Contains("48"));
}
