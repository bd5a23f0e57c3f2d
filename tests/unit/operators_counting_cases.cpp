// Public fault reports about counting (tests/data/cases/bugs.csv): each id's right value, from the cost visitor.
#include "operators/core/cost.hpp"
#include "operators/core/plan.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"

using namespace attnprof::operators;

namespace {

Cost cost(const std::string& id) {
  const Config config = resolve(parse_case_id(id));
  return cost_of(plan_launches(build(config), config.text("plan")));
}

/// Sum of a figure over the launches whose scope ends in one of the leaves.
template <class Figure>
std::int64_t sum(const Cost& cost, const std::vector<std::string>& leaves, Figure figure) {
  Count out = 0;
  for (const LaunchCost& launch : cost.launches) {
    for (const std::string& leaf : leaves) {
      if (launch.scope.ends_with("/" + leaf)) {
        out += figure(launch);
      }
    }
  }
  return out.value();
}
std::int64_t matmul_flops(const Cost& c, const std::vector<std::string>& leaves) {
  return sum(c, leaves, [](const LaunchCost& launch) { return launch.work.matmul_flops(); });
}
std::int64_t useful_flops(const Cost& c, const std::vector<std::string>& leaves) {
  return sum(c, leaves, [](const LaunchCost& launch) { return launch.work.useful_macs * 2; });
}
const std::vector<std::string> kCore = {"scores", "mix"};

} // namespace

TEST_CASE("BUG-001 003 004: causal pairs are exact, projections do not change") {
  CHECK(useful_flops(cost("variant=mha:dim=512:heads=8:seq_len=1024:causal=true"), kCore) == 1'074'790'400);
  const Cost dense = cost("variant=mha:dim=128:heads=4:seq_len=256");
  const Cost causal = cost("variant=mha:dim=128:heads=4:seq_len=256:causal=true");
  CHECK(useful_flops(dense, kCore) == 33'554'432);
  CHECK(useful_flops(causal, kCore) == 16'842'752);
  const std::vector<std::string> projections = {"q_proj", "k_proj", "v_proj", "out_proj"};
  CHECK(matmul_flops(dense, projections) == matmul_flops(causal, projections));
  const Cost wide = cost("variant=mha:dim=4096:heads=32:seq_len=8192:causal=true");
  CHECK(matmul_flops(wide, projections) == 1'099'511'627'776);
  CHECK(useful_flops(wide, kCore) == 549'822'922'752);
}

TEST_CASE("BUG-005 007 010: rectangular causal problems use one pair count in both products") {
  CHECK(useful_flops(cost("variant=mha:seq_len=4:past_len=6:dim=8:heads=1:qk_dim=8:v_dim=16:causal=true"), kCore) ==
        1'632);
  const Cost chunk = cost("variant=mha:seq_len=2048:past_len=2048:dim=4096:heads=32:causal=true:dtype=f16");
  CHECK(useful_flops(chunk, kCore) == 103'095'992'320);
  CHECK(chunk.totals.kv_cache_bytes == 67'108'864);
  CHECK(useful_flops(cost("variant=mha:seq_len=1024:kv_len=77:dim=320:heads=8"), kCore) == 100'925'440);
  CHECK(useful_flops(cost("variant=mha:seq_len=1024:kv_len=77:dim=320:heads=8:causal=true"), kCore) ==
        3'003LL * 4 * 8 * 40);
}

TEST_CASE("BUG-009 067 070: closed forms and checked products at any size") {
  const Cost big = cost("variant=mha:seq_len=131072:dim=64:heads=1:causal=true:plan=fused");
  CHECK(useful_flops(big, {"attention"}) == 8'590'000'128LL * 4 * 64);
  CHECK(matmul_flops(cost("variant=mha:batch=8:seq_len=2048:kv_len=4096:dim=4096:heads=32"), kCore) ==
        1'099'511'627'776);
  CHECK_THROWS_WITH(cost("variant=mha:batch=64:seq_len=4194304:heads=128:dim=16384"), Catch::Contains("too large"));
}

TEST_CASE("BUG-011: a sliding window clips pairs and the keys that a decode reads") {
  CHECK(
      useful_flops(cost("variant=gqa:heads=32:kv_heads=16:head_dim=256:dim=8192:seq_len=32768:window=1024:causal=true"),
                   kCore) == 1'082'348'535'808);
  const Cost decode =
      cost("variant=gqa:heads=32:kv_heads=16:head_dim=256:dim=8192:phase=decode:past_len=32767:window=1024:causal=true:"
           "dtype=f16:plan=fused");
  CHECK(useful_flops(decode, {"attention"}) == 33'554'432);
  const std::int64_t queries = 32 * 256 * 2;
  CHECK(sum(decode, {"attention"}, [](const LaunchCost& l) { return l.bytes.read; }) - queries == 16'777'216);
}

TEST_CASE("BUG-015 016 017 018 022: work follows query heads, traffic and cache follow key heads") {
  for (const char* kv_heads : {"32", "8", "1"}) {
    const Cost c = cost(std::string("variant=gqa:heads=32:dim=4096:seq_len=2048:kv_heads=") + kv_heads);
    CHECK(matmul_flops(c, kCore) == 68'719'476'736);
    CHECK(matmul_flops(c, {"k_proj", "v_proj"}) == 2 * 2 * 2048LL * 4096 * 128 * std::stoll(kv_heads));
  }
  CHECK(matmul_flops(cost("variant=gqa:heads=8:kv_heads=2:dim=512:seq_len=256"), kCore) == 134'217'728);
  const Cost decode =
      cost("variant=gqa:heads=32:kv_heads=8:dim=4096:phase=decode:past_len=4095:causal=true:dtype=f16:plan=fused");
  CHECK(matmul_flops(decode, {"attention"}) == 67'108'864);
  CHECK(sum(decode, {"attention"}, [](const LaunchCost& l) { return l.bytes.read; }) - 4096 * 2 == 16'777'216);
  const Cost batch =
      cost("variant=gqa:batch=16:heads=80:kv_heads=8:head_dim=128:dim=10240:phase=decode:past_len=10240:causal=true:"
           "dtype=bf16:plan=fused");
  CHECK(matmul_flops(batch, {"attention"}) == 6'711'541'760);
  CHECK(batch.totals.kv_cache_bytes == 671'154'176);
}

TEST_CASE("BUG-021 027: stray parameters and non-dividing heads are refused") {
  CHECK_THROWS_WITH(cost("variant=gqa:dim=64:heads=4:chunk=256"), Catch::Contains("--chunk"));
  CHECK_THROWS_WITH(cost("variant=mha:dim=1024:heads=12"),
                    Catch::Contains("1024") && Catch::Contains("12") && Catch::Contains("8, 16"));
}

TEST_CASE("BUG-024 025: head_dim is a parameter of its own") {
  const Cost c = cost("variant=gqa:dim=2880:heads=64:kv_heads=8:head_dim=64:seq_len=4096");
  CHECK(matmul_flops(c, {"q_proj"}) == 96'636'764'160);
  CHECK(matmul_flops(c, {"k_proj", "v_proj"}) == 24'159'191'040);
  CHECK(matmul_flops(c, {"out_proj"}) == 96'636'764'160);
  CHECK(matmul_flops(c, kCore) == 274'877'906'944);
  CHECK(matmul_flops(cost("variant=gqa:dim=2560:heads=32:kv_heads=8:head_dim=128:seq_len=1024"), kCore) ==
        17'179'869'184);
}

TEST_CASE("BUG-033 047 058: FFN products, activations apart, three matrices where gated") {
  CHECK(cost("layout=ffn:dim=768:ffn_dim=3072:seq_len=197").totals.work.macs == 929'562'624);
  for (const char* activation : {"relu", "gelu", "silu"}) {
    const Cost c = cost(std::string("layout=ffn:dim=192:ffn_dim=768:seq_len=197:activation=") + activation);
    CHECK(c.totals.work.matmul_flops() == 116'195'328);
    const StepFn fn = std::string(activation) == "relu"   ? StepFn::kRelu
                      : std::string(activation) == "gelu" ? StepFn::kGelu
                                                          : StepFn::kSilu;
    CHECK(sum(c, {"act"}, [](const LaunchCost& l) { return l.work.vector_flops; }) == 151'296 * step_traits(fn).flops);
  }
  const Cost swiglu = cost("layout=ffn:ffn=swiglu:dim=1024:ffn_dim=4096:seq_len=128");
  CHECK(swiglu.totals.work.matmul_flops() == 3'221'225'472);
  CHECK(swiglu.totals.params == 12'582'912);
  CHECK(cost("layout=ffn:dim=1024:ffn_dim=4096:seq_len=128").totals.work.matmul_flops() == 2'147'483'648);
}

TEST_CASE("BUG-034 035: transformer blocks match the published multiply-adds") {
  const Cost tiny = cost("layout=standard:variant=mha:dim=192:heads=3:seq_len=197");
  CHECK(tiny.totals.work.macs == 102'049'152);
  CHECK(matmul_flops(tiny, kCore) / 2 == 14'902'656);
  // ViT-B without patch embedding and head: 12 blocks.
  CHECK(cost("layout=standard:variant=mha:dim=768:heads=12:seq_len=197:depth=12").totals.work.macs == 17'447'454'720);
}

TEST_CASE("BUG-038 039 040 045: the core is counted once, grows with the square, and batch is not length") {
  for (const char* plan : {"eager", "fused"}) {
    const std::string suffix = std::string(":plan=") + plan;
    CHECK(matmul_flops(cost("variant=mha:heads=12:dim=768:seq_len=64" + suffix), {"scores", "mix", "attention"}) ==
          12'582'912);
    CHECK(matmul_flops(cost("variant=mha:batch=2:heads=5:dim=20:seq_len=9" + suffix), {"scores", "mix", "attention"}) ==
          12'960);
  }
  const auto block = [](const char* n) {
    return cost(std::string("layout=standard:variant=mha:dim=4096:heads=32:seq_len=") + n).totals.work.macs;
  };
  CHECK(block("16384").value() * 2 == block("8192").value() * 5);
  const Cost long_rows = cost("variant=mha:batch=16:seq_len=64:dim=512:heads=8");
  const Cost short_rows = cost("variant=mha:batch=64:seq_len=16:dim=512:heads=8");
  CHECK(matmul_flops(long_rows, kCore) == 134'217'728);
  CHECK(matmul_flops(short_rows, kCore) == 33'554'432);
  for (const Cost* c : {&long_rows, &short_rows}) {
    CHECK(matmul_flops(*c, {"q_proj", "k_proj", "v_proj", "out_proj"}) == 2'147'483'648);
  }
}

TEST_CASE("BUG-044: cross attention charges queries and outputs by one length, keys and values by the other") {
  const Cost c = cost("variant=mha:seq_len=75600:kv_len=512:dim=5120:heads=40:head_dim=128");
  CHECK(matmul_flops(c, {"q_proj", "out_proj"}) == 7'927'234'560'000);
  CHECK(matmul_flops(c, {"k_proj", "v_proj"}) == 53'687'091'200);
  CHECK(matmul_flops(c, kCore) == 792'723'456'000);
}

TEST_CASE("BUG-048 060: the worked example, softmax at 5 per entry, forward only") {
  const Cost c = cost("variant=mha:seq_len=196:dim=192:heads=1:dtype=f16");
  const auto at = [&](const std::string& leaf) {
    for (const LaunchCost& launch : c.launches) {
      if (launch.scope.ends_with("/" + leaf)) {
        return launch;
      }
    }
    throw Error(ErrorKind::kInternal, "no launch " + leaf);
  };
  CHECK(at("scores").work.flops() == 14'751'744);
  CHECK(at("scores").bytes.read + at("scores").bytes.written == 227'360);
  CHECK(at("softmax").work.flops() == 192'080);
  CHECK(at("softmax").bytes.read + at("softmax").bytes.written == 153'664);
  CHECK(matmul_flops(cost("variant=mha:batch=64:heads=16:dim=1024:seq_len=1024"), kCore) == 274'877'906'944);
}

TEST_CASE("BUG-050 053 064 083 084: repeats, depthwise kernels, sandwich, residual and slices") {
  CHECK(cost("variant=mha").totals.work.macs == cost("variant=mha").totals.work.macs);
  for (const auto& [kernel, flops] : {std::pair{3, 1'557'504}, std::pair{5, 4'326'400}, std::pair{7, 8'479'744}}) {
    const Cost c =
        cost("layout=sandwich:variant=mha:grid=13x13:dim=512:heads=8:n_ffn=1:kernel=" + std::to_string(kernel));
    CHECK(matmul_flops(c, {"dwconv"}) == 2 * flops);
  }
  const Cost sandwich =
      cost("layout=sandwich:variant=cga:grid=14x14:dim=192:heads=4:qk_dim=16:v_dim=48:n_ffn=2:mlp_ratio=2:kernel=3");
  CHECK(sandwich.totals.work.matmul_flops() == 274'061'312);
  CHECK(matmul_flops(sandwich, {"dwconv", "fc1", "fc2"}) == 4 * 58'480'128);
  const Cost residual = cost("layout=standard:variant=mha:seq_len=196:dim=192");
  CHECK(sum(residual, {"residual"}, [](const LaunchCost& l) { return l.bytes.read + l.bytes.written; }) == 2 * 451'584);
  CHECK(sum(residual, {"residual"}, [](const LaunchCost& l) { return l.work.vector_flops; }) == 2 * 37'632);
  const Cost cga = cost("variant=cga:dim=192:heads=4:seq_len=196:qk_dim=16");
  CHECK(sum(cga, {"v_proj"}, [](const LaunchCost& l) { return l.bytes.read; }) == 4 * (37'632 + 48 * 48 * 4));
}

TEST_CASE("worked numbers: parameters of mha and group attention, attention passes of the layouts") {
  CHECK(cost("variant=mha:dim=192:heads=4:qk_dim=16:v_dim=16").totals.params == 36'864 + 12'288);
  CHECK(cost("variant=group:dim=192:heads=4:qk_dim=16:v_dim=16").totals.params == 9'216 + 12'288);
  const auto softmaxes = [](const Cost& c) { return sum(c, {"softmax"}, [](const LaunchCost&) { return Count(1); }); };
  CHECK(softmaxes(cost("layout=sandwich:variant=mha:n_ffn=2")) == 1);
  CHECK(softmaxes(cost("layout=standard:variant=mha:depth=3")) == 3);
}

TEST_CASE("totals are the sums of the launches, and parameters do not depend on batch") {
  for (const char* plan : {"eager", "fused"}) {
    const Cost one = cost(std::string("layout=standard:variant=gqa:heads=4:dim=64:seq_len=64:plan=") + plan);
    const Cost three = cost(std::string("layout=standard:variant=gqa:heads=4:dim=64:seq_len=64:batch=3:plan=") + plan);
    CHECK(three.totals.work.macs == one.totals.work.macs * 3);
    CHECK(three.totals.params == one.totals.params);
    Work work;
    Count read = 0;
    for (const LaunchCost& launch : one.launches) {
      work += launch.work;
      read += launch.bytes.read;
    }
    CHECK(work.macs == one.totals.work.macs);
    CHECK(work.vector_flops == one.totals.work.vector_flops);
    CHECK(read == one.totals.bytes_read);
  }
}
