#include "operators/core/cost.hpp"
#include "operators/core/plan.hpp"
#include "operators/exec/twin.hpp"
#include "operators/workload.hpp"
#include "tests/support/case.hpp"
#include "tests/support/catch.hpp"

using namespace attnprof::operators;
using attnprof::tests::resolved;

namespace {

constexpr CheckLimits kLimits{60'000'000, 1'000'000'000};

} // namespace

TEST_CASE("twin: every variant and layout has one within the limits, of the same kind") {
  for (const LayoutDescriptor& layout : layouts()) {
    for (const VariantDescriptor& variant : variants()) {
      if (!layout.in_default_sweep || !variant.in_default_sweep) {
        continue;
      }
      for (const char* plan : {"eager", "fused"}) {
        const Config large = resolved("layout=" + layout.name + ":variant=" + variant.name +
                                      ":batch=8:grid=56x56:dim=768:heads=12:plan=" + plan);
        INFO(case_id(large));
        REQUIRE_FALSE(is_within(large, kLimits));
        const auto twin = reduced_twin(large, kLimits);
        REQUIRE(twin);
        CHECK(is_within(*twin, kLimits));
        for (const char* same : {"layout", "variant", "plan", "dtype"}) {
          CHECK(twin->text(same) == large.text(same));
        }
        CHECK(*twin == resolve(*twin));
      }
    }
  }
}

TEST_CASE("twin: images and blocks go first, then tokens, and ratios of heads stay") {
  const Config deep = resolved("layout=standard:variant=gqa:batch=4:seq_len=128:dim=128:heads=8:kv_heads=4:depth=8");
  const auto shallow = reduced_twin(deep, {40'000'000, 1'000'000'000});
  REQUIRE(shallow);
  CHECK(shallow->integer("batch") == 1);
  CHECK(shallow->integer("depth") == 1);
  CHECK(shallow->integer("seq_len") == 128);
  const auto small = reduced_twin(deep, {1'000'000, 1'000'000'000});
  REQUIRE(small);
  CHECK(small->integer("heads") == 2 * small->integer("kv_heads"));
  CHECK(small->integer("head_dim") <= 16);
}

TEST_CASE("twin: decode keeps its cache, and one that cannot be small enough is absent") {
  const Config decode = resolved("variant=mha:phase=decode:past_len=65535:dim=4096:heads=32:batch=8");
  const auto twin = reduced_twin(decode, kLimits);
  REQUIRE(twin);
  CHECK(twin->text("phase") == "decode");
  CHECK(twin->integer("past_len") > 0);
  CHECK_FALSE(reduced_twin(decode, {1, 1}));
}

TEST_CASE("twin: a whole network keeps its kinds of blocks on a smaller image") {
  for (const char* model : {"vit_base_patch16_224", "swin_tiny_patch4_window7_224", "efficientvit_m5", "skipat_B",
                            "poolformer_m48", "pvt_large"}) {
    INFO(model);
    const auto twin = reduced_twin(resolved(std::string("model=") + model + ":batch=4:plan=fused"), kLimits);
    REQUIRE(twin);
    CHECK(is_within(*twin, kLimits));
    CHECK(twin->text("model") == model);
  }
}

TEST_CASE("twin: skipped blocks stay skipped") {
  const auto twin =
      reduced_twin(resolved("layout=skipat:variant=mha:grid=14x14:dim=192:heads=3:phi=identity"), kLimits);
  REQUIRE(twin);
  CHECK(twin->text("skip") == "1");
}
