#include "tests/support/catch.hpp"
#include "tests/support/multi_head_oracle.hpp"

using namespace attnprof::testing;

TEST_CASE("gqa equals plain loops with shared key heads") {
  for (const char* id : {"variant=gqa:batch=2:seq_len=5:dim=16:heads=4:kv_heads=2",
                         "variant=gqa:seq_len=5:dim=12:heads=6:kv_heads=3:causal=true",
                         "variant=gqa:seq_len=6:dim=16:heads=4:kv_heads=2:causal=true:rope=true"}) {
    check_multi_head(id, static_cast<std::size_t>(Case(id).integer("kv_heads")));
  }
}

TEST_CASE("gqa with a key head for each query head is mha, with one it is mqa") {
  const Case mha("variant=mha:seq_len=6:dim=16:heads=4:causal=true");
  CHECK(difference(Case("variant=gqa:seq_len=6:dim=16:heads=4:kv_heads=4:causal=true").result("y"), mha.result("y")) ==
        0.0);
  const Case mqa("variant=mqa:seq_len=6:dim=16:heads=4");
  CHECK(difference(Case("variant=gqa:seq_len=6:dim=16:heads=4:kv_heads=1").result("y"), mqa.result("y")) == 0.0);
}

TEST_CASE("gqa decodes the rows of its prefill") {
  check_decode_is_prefill("variant=gqa:dim=16:heads=4:kv_heads=2", 2, 4);
  check_chunked_prefill("variant=gqa:dim=16:heads=4:kv_heads=2", 2, 4);
}

TEST_CASE("a later token does not change earlier outputs of causal gqa") {
  check_causality("variant=gqa:dim=16:heads=4:kv_heads=2");
}
