#include "tests/support/catch.hpp"
#include "tests/support/multi_head_oracle.hpp"

using namespace attnprof::testing;

TEST_CASE("mqa equals plain loops with one key head") {
  for (const char* id :
       {"variant=mqa:batch=2:seq_len=5:dim=12:heads=3", "variant=mqa:seq_len=7:dim=8:heads=4:causal=true:rope=true"}) {
    check_multi_head(id, 1);
  }
}

TEST_CASE("mqa decodes the rows of its prefill") {
  check_decode_is_prefill("variant=mqa:dim=8:heads=4", 1, 2);
}

TEST_CASE("a later token does not change earlier outputs of causal mqa") {
  check_causality("variant=mqa:dim=8:heads=2");
}
