// mha against plain loops, and the relations that hold between its cases.
#include "tests/support/catch.hpp"
#include "tests/support/multi_head_oracle.hpp"

using namespace attnprof::testing;

TEST_CASE("mha equals plain loops") {
  for (const char* id :
       {"variant=mha:batch=2:seq_len=5:dim=12:heads=3", "variant=mha:seq_len=6:dim=12:heads=2:head_dim=4",
        "variant=mha:seq_len=7:dim=8:heads=2:qk_dim=3:v_dim=5:causal=true",
        "variant=mha:seq_len=4:kv_len=6:dim=8:heads=2:causal=true",
        "variant=mha:seq_len=6:kv_len=4:dim=8:heads=2:causal=true",
        "variant=mha:seq_len=9:dim=8:heads=2:causal=true:window=3",
        "variant=mha:seq_len=7:dim=8:heads=2:causal=true:rope=true"}) {
    check_multi_head(id, attnprof::testing::heads_of(id));
  }
}

TEST_CASE("decoding token by token gives the rows of a prefill") {
  check_decode_is_prefill("variant=mha:dim=8:heads=2", 2, 4);
}

TEST_CASE("a chunked prefill gives the rows of a whole one") {
  check_chunked_prefill("variant=mha:dim=8:heads=2", 2, 4);
}

TEST_CASE("a later token does not change earlier outputs of causal mha") {
  check_causality("variant=mha:dim=8:heads=2");
}
