// Settings that meet in one workload: what each means there, what is refused, and what padding is worth.
#include "tests/support/catch.hpp"
#include "tests/support/naive.hpp"

#include "operators/core/cost.hpp"
#include "operators/core/error.hpp"
#include "operators/core/plan.hpp"
#include "operators/workload.hpp"
#include "tests/support/case.hpp"

#include <algorithm>
#include <cmath>

namespace operators = attnprof::operators;
using attnprof::testing::Case;
using attnprof::testing::Matrix;
using attnprof::tests::resolved;

namespace {

operators::Graph launches_of(const std::string& id) {
  const operators::Config config = resolved(id);
  return operators::plan_launches(operators::build(config), config.text("plan"));
}

operators::Totals totals_of(const std::string& id) {
  return operators::cost_of(launches_of(id)).totals;
}

} // namespace

TEST_CASE("padding of a window is executed, not useful, in projections and scores alike") {
  // 4 products of 81 real tokens, and two products over the pairs inside windows of 49 + 2 * 14 + 4 real tokens.
  const std::int64_t pairs = 49 * 49 + 2 * 14 * 14 + 4 * 4;
  const operators::Totals totals = totals_of("variant=window:grid=9x9:window=7:dim=12:heads=3");
  CHECK(totals.work.useful_macs.value() == 4 * 81 * 12 * 12 + 2 * pairs * 12);
  CHECK(totals.work.macs.value() == 4 * 196 * 12 * 12 + 2 * 4 * 49 * 49 * 12);
  CHECK(totals_of("variant=window:grid=14x14:window=7:dim=12:heads=3").work.useful_macs ==
        totals_of("variant=window:grid=14x14:window=7:dim=12:heads=3").work.macs);
  CHECK(totals_of("variant=window:grid=96x96:window=7:dim=96:heads=3").work.useful_macs.value() == 423'881'472);
}

TEST_CASE("padding of EfficientViT's windows is executed, not useful, its convolution included") {
  // Two heads of 4 channels, queries of 2: projections, convolution of 3 taps a side, scores and mix, output.
  const std::int64_t line_taps = 2 * 2 + 1; // windows of 2 + 1 tokens along a side of 3: 4 taps and 1
  const std::int64_t pairs = 16 + 2 * 4 + 1;
  const std::int64_t head = 9 * 4 * (2 + 2 + 4) + line_taps * line_taps * 2 + pairs * (2 + 4);
  const operators::Totals totals =
      totals_of("variant=cga_window:grid=3x3:window=2:dim=8:heads=2:qk_dim=2:query_kernel=3:folded=true");
  CHECK(totals.work.useful_macs.value() == 2 * head + 9 * 8 * 8);
  CHECK(totals.work.macs.value() == 2 * (16 * 4 * 8 + 16 * 9 * 2 + 4 * 16 * 6) + 16 * 8 * 8);
}

TEST_CASE("the scores of a shifted window of one image are fused") {
  const operators::Graph launches = launches_of("variant=window:grid=14x14:shift=3:dim=12:heads=3:plan=fused");
  CHECK(std::none_of(launches.ops.begin(), launches.ops.end(),
                     [](const operators::Op& op) { return std::holds_alternative<operators::Softmax>(op.primitive); }));
}

TEST_CASE("a query all of whose relu features are 0 gives 0, as the released codes do") {
  for (const char* id :
       {"variant=linear:seq_len=4:dim=6:heads=2:features=relu", "variant=cosformer:seq_len=4:dim=6:heads=2",
        "variant=linear:seq_len=5:dim=6:heads=2:features=relu:causal=true:chunk=2"}) {
    CAPTURE(id);
    Case run(id);
    Matrix x = run.given("x");
    for (std::size_t c = 0; c < x.columns; ++c) {
      x(1, c) = 0.0; // this token's queries are 0, and so is what it gets
    }
    run.set("x", x);
    const Matrix y = run.result("y");
    CHECK(std::all_of(y.values.begin(), y.values.end(), [](double v) { return std::isfinite(v); }));
    for (std::size_t c = 0; c < y.columns; ++c) {
      CHECK(y(1, c) == 0.0);
    }
  }
}

TEST_CASE("a sliding window keeps no more keys than it sees") {
  const std::string sizes = ":dim=64:heads=32:kv_heads=16:head_dim=256:causal=true:window=1024:dtype=f16:plan=fused";
  const operators::Totals decode = totals_of("variant=gqa:phase=decode:past_len=32767" + sizes);
  CHECK(decode.kv_cache_bytes.value() == 2 * 1024 * 16 * 256 * 2);
  CHECK(decode.compulsory_bytes.value() <= (decode.bytes_read + decode.bytes_written).value());
  CHECK(totals_of("variant=gqa:phase=decode:past_len=10" + sizes).kv_cache_bytes.value() == 2 * 11 * 16 * 256 * 2);
}

TEST_CASE("phi keeps its own defaults beside mixers and networks that take the same flags") {
  CHECK(resolved("layout=skipat:variant=mha:ffn=mlp_dw:grid=4x4:dim=12").integer("kernel") == 5);
  CHECK(resolved("layout=skipat:variant=pool:grid=4x4:dim=12").integer("kernel") == 5);
  CHECK(resolved("layout=skipat:variant=gau:phi=dwc:grid=4x4:dim=12").real("expansion") == 2.0);
  CHECK(resolved("layout=skipat:variant=pool:phi=identity:grid=4x4:dim=12").integer("kernel") == 3);
  CHECK(resolved("layout=skipat:variant=mha:ffn=mlp_dw:phi=identity:kernel=7:grid=4x4:dim=12").integer("kernel") == 7);
  CHECK(resolved("layout=skipat:variant=mha:ffn=mlp_dw:reuse=weights:grid=4x4:dim=12").integer("kernel") == 3);
}

TEST_CASE("a flag that nothing in the workload has a use for is refused") {
  CHECK_THROWS_WITH(resolved("layout=skipat:variant=mha:phi=identity:kernel=5:grid=4x4:dim=12"),
                    Catch::Contains("--kernel does not apply to --phi identity"));
  CHECK_THROWS_WITH(resolved("layout=skipat:variant=mha:reuse=weights:expansion=2:grid=4x4:dim=12"),
                    Catch::Contains("--expansion does not apply to --reuse weights"));
  for (const char* layout : {"standard", "ffn", "twins"}) {
    CHECK_THROWS_WITH(resolved(std::string("layout=") + layout + ":grid=7x7:dim=12:kernel=5"),
                      Catch::Contains("--kernel 5 does not apply to --ffn mlp"));
  }
  CHECK(resolved("layout=standard:variant=pool:grid=7x7:dim=12:kernel=5").integer("kernel") == 5);
  CHECK(resolved("layout=sandwich:variant=mha:grid=7x7:dim=12:kernel=5").integer("kernel") == 5);
}

TEST_CASE("a class token is refused by what works on a grid alone") {
  const std::string sizes = ":grid=4x4:cls_token=true:dim=12:heads=3:depth=4:skip=2-3";
  for (const char* mixer : {"variant=window", "variant=pool", "variant=sra:reduction=2", "variant=sra"}) {
    CAPTURE(mixer);
    CHECK_THROWS_WITH(
        resolved(std::string("layout=skipat:") + mixer +
                 (std::string(mixer) == "variant=pool" ? ":grid=4x4:cls_token=true:dim=12:depth=4:skip=2-3" : sizes)),
        Catch::Contains("--cls-token"));
  }
  CHECK_THROWS_WITH(resolved("layout=skipat:variant=mha:ffn=mlp_dw" + sizes), Catch::Contains("--cls-token"));
  CHECK_THROWS_WITH(resolved("variant=skipat:cls_token=true:seq_len=1:dim=12"), Catch::Contains("--seq-len 1"));
}

TEST_CASE("sizes that leave nothing, or lengthen what should shorten, are refused") {
  CHECK_THROWS_WITH(resolved("variant=skipat:expansion=0.01:grid=4x4:dim=12"), Catch::Contains("--expansion 0.01"));
  CHECK_THROWS_WITH(resolved("variant=linformer:seq_len=8:projected_len=9:dim=12"),
                    Catch::Contains("--projected-len 9") && Catch::Contains("--seq-len 8"));
  CHECK(resolved("variant=linformer:seq_len=8:dim=12").integer("projected_len") == 8);
  CHECK(resolved("variant=nystromformer:seq_len=128:dim=12").integer("landmarks") == 32);
  CHECK(resolved("variant=nystromformer:seq_len=196:dim=12").integer("landmarks") == 28);
}
