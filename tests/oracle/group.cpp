#include "tests/support/catch.hpp"
#include "tests/support/grouped_heads_oracle.hpp"

using namespace attnprof::testing;

TEST_CASE("group attention equals plain loops") {
  for (const char* id : {"variant=group:batch=2:seq_len=5:dim=12:heads=3:qk_dim=2",
                         "variant=group:seq_len=6:dim=8:heads=2:qk_dim=3:v_dim=5"}) {
    check_grouped_heads(id, false);
  }
}

TEST_CASE("group attention with one head is mha with those widths") {
  const Case group("variant=group:seq_len=5:dim=8:heads=1:qk_dim=3:v_dim=4");
  const Case mha("variant=mha:seq_len=5:dim=8:heads=1:qk_dim=3:v_dim=4");
  CHECK(difference(group.result("y"), mha.result("y")) < 1e-12);
}
