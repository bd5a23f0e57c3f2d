// For every registered variant, layout, model and plan: counted work and touched bytes are the stated ones.
#include "operators/exec/verify.hpp"
#include "tests/contract/check_counts.hpp"

using namespace attnprof::operators;
using attnprof::tests::check_counts_of_both_plans;

namespace {

/// Every variant inside every layout that takes one, at sizes that any of them accepts.
std::vector<Config> combinations() {
  std::vector<Config> out;
  for (const LayoutDescriptor& layout : layouts()) {
    for (const VariantDescriptor& variant : variants()) {
      if (layout.takes_variant) {
        out.push_back(
            resolve(parse_case_id("layout=" + layout.name + ":variant=" + variant.name + ":grid=2x3:dim=12")));
      }
    }
  }
  return out;
}

} // namespace

TEST_CASE("counted operations and touched bytes equal the stated ones for every sample") {
  const std::vector<Config> cases = sample_cases();
  REQUIRE(cases.size() >= variants().size() + layouts().size());
  for (const Config& config : cases) {
    check_counts_of_both_plans(config);
  }
}

TEST_CASE("counted operations and touched bytes equal the stated ones for every variant in every layout") {
  for (const Config& config : combinations()) {
    check_counts_of_both_plans(config);
  }
}

TEST_CASE("what counting leaves out of a graph changes no count") {
  std::vector<Config> cases = sample_cases();
  const std::vector<Config> combined = combinations();
  cases.insert(cases.end(), combined.begin(), combined.end());
  Graph recycled;
  for (const Config& config : cases) {
    for (const char* plan : {"eager", "fused"}) {
      INFO(case_id(config) << " " << plan);
      recycled = plan_launches(build(config, std::move(recycled), Detail::kCounted), plan);
      CHECK(totals_of(recycled) == cost_of(plan_launches(build(config), plan)).totals);
    }
  }
}

TEST_CASE("nothing else follows from how a case runs") {
  std::vector<Config> cases = sample_cases();
  const std::vector<Config> combined = combinations();
  cases.insert(cases.end(), combined.begin(), combined.end());
  const std::vector<std::pair<const char*, Value>> runs = {
      {"plan", std::string("fused")}, {"device", std::string("cuda")}, {"threads", std::int64_t{3}}};
  for (const ParamSpec& spec : all_params()) {
    CHECK(is_of_run(spec.name) ==
          std::any_of(runs.begin(), runs.end(), [&](const auto& run) { return run.first == spec.name; }));
  }
  for (const Config& config : cases) {
    for (const auto& [name, value] : runs) {
      INFO(case_id(config) << " " << name);
      Config other = config;
      other.set(name, value);
      CHECK(resolve(other) == other);
      CHECK(totals_of(build(other)) == totals_of(build(config)));
    }
  }
}

TEST_CASE("both plans and the reference agree on the numbers of every sample") {
  for (const Config& config : sample_cases()) {
    INFO(case_id(config));
    const Graph eager = build(config);
    const Graph fused = plan_launches(eager, "fused");
    const TensorValues a = run_reference(eager, reference_inputs(eager, 7));
    const TensorValues b = run_reference(fused, reference_inputs(fused, 7));
    REQUIRE(a.size() == b.size());
    for (const auto& [id, values] : a) {
      const std::vector<double>& other = b.at(id);
      REQUIRE(values.size() == other.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        REQUIRE(values[i] == Catch::Approx(other[i]).margin(1e-12));
      }
    }
  }
}

TEST_CASE("the fused plan needs no more launches and no more bytes than the eager plan") {
  for (const Config& config : sample_cases()) {
    INFO(case_id(config));
    const Graph graph = build(config);
    const Totals eager = cost_of(graph).totals;
    const Totals fused = cost_of(plan_launches(graph, "fused")).totals;
    CHECK(fused.launches <= eager.launches);
    CHECK(fused.bytes_read + fused.bytes_written <= eager.bytes_read + eager.bytes_written);
    CHECK(fused.work.useful_macs == eager.work.useful_macs);
    CHECK(fused.work.macs <= eager.work.macs);
    CHECK(fused.params == eager.params);
    CHECK(fused.compulsory_bytes == eager.compulsory_bytes);
  }
}

TEST_CASE("the fused plan stores no matrix of scores, whatever makes the weights") {
  for (const char* id : {"variant=mha:seq_len=512:dim=16:heads=1", "variant=gau:seq_len=512:dim=16:qk_dim=8",
                         "variant=gau:seq_len=512:dim=16:qk_dim=8:causal=true:scaling=n2",
                         "variant=gau:seq_len=512:dim=16:qk_dim=8:weights=softmax",
                         "variant=flash:seq_len=512:dim=16:qk_dim=8:chunk=512:causal=true"}) {
    INFO(id);
    const Config config = resolve(parse_case_id(id));
    const Graph eager = build(config);
    const Graph fused = plan_launches(eager, "fused");
    CHECK(cost_of(eager).totals.peak_activation_bytes >= 512 * 512 * 4);
    CHECK(cost_of(fused).totals.peak_activation_bytes < 512 * 512 * 4);
    std::vector<std::string> cores;
    for (const Op& op : fused.ops) {
      if (std::holds_alternative<Attention>(op.primitive)) {
        cores.push_back(op.scope);
      }
    }
    REQUIRE(cores.size() == 1);
    CHECK(cores.front().ends_with("/attention"));
  }
}

TEST_CASE("totals alone are the totals of the launches, whatever the case") {
  std::vector<Config> cases = sample_cases();
  for (const Config& config : combinations()) {
    cases.push_back(config);
  }
  for (const Config& config : cases) {
    for (const char* plan : {"eager", "fused"}) {
      INFO(case_id(config) << " plan " << plan);
      const Graph launches = plan_launches(build(config), plan);
      const Cost whole = cost_of(launches);
      const Totals alone = totals_of(launches);
      Work work;
      Count bytes_read;
      Count bytes_written;
      for (const LaunchCost& launch : whole.launches) {
        work += launch.work;
        bytes_read += launch.bytes.read;
        bytes_written += launch.bytes.written;
      }
      CHECK(alone.work.macs == work.macs);
      CHECK(alone.work.useful_macs == work.useful_macs);
      CHECK(alone.work.vector_flops == work.vector_flops);
      CHECK(alone.work.transcendentals == work.transcendentals);
      CHECK(alone.bytes_read == bytes_read);
      CHECK(alone.bytes_written == bytes_written);
      CHECK(alone.launches == static_cast<std::int64_t>(whole.launches.size()));
      CHECK(alone.params == whole.totals.params);
      CHECK(alone.active_params == whole.totals.active_params);
      CHECK(alone.compulsory_bytes == whole.totals.compulsory_bytes);
      CHECK(alone.weight_bytes == whole.totals.weight_bytes);
      CHECK(alone.kv_cache_bytes == whole.totals.kv_cache_bytes);
      CHECK(alone.peak_activation_bytes == whole.totals.peak_activation_bytes);
    }
  }
}
