#include "profilers/cache_model.hpp"

#include "operators/core/cost.hpp"
#include "operators/core/plan.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sizes.hpp"

#include <numeric>

using namespace attnprof;
using namespace attnprof::profilers;
using operators::Graph;
using operators::TensorRole;
using operators::View;
using tests::kMiB;

namespace {

/// Tensors of 1 MiB and copies between them.
class Chain {
 public:
  operators::TensorId tensor(TensorRole role, std::int64_t mib = 1) {
    operators::Tensor one;
    one.name = "t" + std::to_string(graph.tensors.size());
    one.dims = {mib * 1024, 256};
    one.role = role;
    graph.tensors.push_back(one);
    return static_cast<operators::TensorId>(graph.tensors.size() - 1);
  }
  View whole(operators::TensorId id) const { return operators::dense_view(id, graph.tensor(id).dims); }
  void copy(const View& from, const View& to) { graph.ops.push_back({"copy", operators::Copy{from, to}}); }
  void copy(operators::TensorId from, operators::TensorId to) { copy(whole(from), whole(to)); }

  Graph graph;
};

/// x -> y -> z.
Chain two_copies() {
  Chain chain;
  const auto x = chain.tensor(TensorRole::kInput);
  const auto y = chain.tensor(TensorRole::kIntermediate);
  const auto z = chain.tensor(TensorRole::kOutput);
  chain.copy(x, y);
  chain.copy(y, z);
  return chain;
}

std::vector<BorderTraffic> at_capacity(const Graph& graph, double mib, CachePolicy policy = CachePolicy::kWarm) {
  const auto traffic =
      modelled_traffic(graph, {{1, static_cast<std::int64_t>(mib * static_cast<double>(kMiB)), 1, 64}}, policy);
  std::vector<BorderTraffic> out;
  for (const auto& launch : traffic) {
    REQUIRE(launch.size() == 1);
    out.push_back(launch.front());
  }
  return out;
}

double fills_mib(const BorderTraffic& border) {
  return border.fill_bytes / static_cast<double>(kMiB);
}
double write_backs_mib(const BorderTraffic& border) {
  return border.write_back_bytes / static_cast<double>(kMiB);
}

} // namespace

TEST_CASE("cache model: what fits moves nothing, what does not moves as a whole, write-allocate included") {
  const Chain chain = two_copies();
  for (const BorderTraffic& launch : at_capacity(chain.graph, 4)) {
    CHECK(launch.fill_bytes == 0);
    CHECK(launch.write_back_bytes == 0);
  }
  // Both operands are filled, the written one because its lines are allocated, and it is written back.
  for (const BorderTraffic& launch : at_capacity(chain.graph, 0.5)) {
    CHECK(fills_mib(launch) == Catch::Approx(2));
    CHECK(write_backs_mib(launch) == Catch::Approx(1));
  }
}

TEST_CASE("cache model: an intermediate stays between its launches where a run as a whole does not fit") {
  const auto traffic = at_capacity(two_copies().graph, 2.5);
  CHECK(fills_mib(traffic[0]) == Catch::Approx(1));       // x; y is still there from the last run
  CHECK(fills_mib(traffic[1]) == Catch::Approx(1));       // the lines of z
  CHECK(write_backs_mib(traffic[0]) == Catch::Approx(0)); // y is overwritten before it has to leave
  CHECK(write_backs_mib(traffic[1]) == Catch::Approx(1));
}

TEST_CASE("cache model: part of an operand stays where distances grow along it") {
  // y is written beside x of 1 MiB, and read beside z of 3 MiB: after its p-th part, 2 (1 - p) MiB are left of the
  // first launch and 4 p MiB have passed in the second.
  Chain chain;
  const auto x = chain.tensor(TensorRole::kInput);
  const auto y = chain.tensor(TensorRole::kIntermediate);
  const auto z = chain.tensor(TensorRole::kOutput, 3);
  chain.copy(x, y);
  View rows = chain.whole(z);
  chain.copy(chain.whole(y).broadcast(0, 3), rows.split(0, 3, 1024));
  // From 2 MiB at the first byte to 4 MiB at the last: within 3 MiB for the first half of y.
  const auto traffic = at_capacity(chain.graph, 3);
  CHECK(fills_mib(traffic[1]) == Catch::Approx(0.5 + 3));
}

TEST_CASE("cache model: cold runs fill everything once, cold weights only the weights") {
  Chain chain = two_copies();
  const auto w = chain.tensor(TensorRole::kWeight);
  const auto out = chain.tensor(TensorRole::kOutput);
  chain.copy(w, out);
  const auto cold = at_capacity(chain.graph, 100, CachePolicy::kCold);
  CHECK(fills_mib(cold[0]) == Catch::Approx(2));
  CHECK(fills_mib(cold[1]) == Catch::Approx(1)); // y was written by the launch before
  CHECK(fills_mib(cold[2]) == Catch::Approx(2));
  const auto weights = at_capacity(chain.graph, 100, CachePolicy::kColdWeights);
  CHECK(fills_mib(weights[0]) == 0);
  CHECK(fills_mib(weights[2]) == Catch::Approx(1));
}

TEST_CASE("cache model: slices touch their part, and together the whole") {
  Chain chain;
  const auto all = chain.tensor(TensorRole::kInput, 3);
  const auto q = chain.tensor(TensorRole::kOutput);
  const View table = chain.whole(all); // [3072, 256], of which each op takes rows of a 768-wide table
  View wide = table;
  wide.dims = {1024, 768};
  wide.strides = {768, 1};
  chain.copy(wide.slice(1, 0, 256), chain.whole(q));
  const auto one = at_capacity(chain.graph, 0.1);
  CHECK(fills_mib(one[0]) == Catch::Approx(2).epsilon(1e-3));
}

TEST_CASE("cache model: an intermediate takes over the lines of one that is done with") {
  // Four intermediates in a chain lie in three places of memory, each a little apart.
  Chain chain;
  auto from = chain.tensor(TensorRole::kInput);
  for (int i = 0; i < 4; ++i) {
    const auto to = chain.tensor(TensorRole::kIntermediate);
    chain.copy(from, to);
    from = to;
  }
  chain.copy(from, chain.tensor(TensorRole::kOutput));
  const auto traffic = at_capacity(chain.graph, 5.2); // x, three places, the output
  for (const BorderTraffic& launch : traffic)
    CHECK(launch.fill_bytes == 0);
}

TEST_CASE("cache model: private caches hold copies of weights and shares of activations") {
  Chain chain;
  const auto x = chain.tensor(TensorRole::kInput);
  const auto w = chain.tensor(TensorRole::kWeight);
  const auto y = chain.tensor(TensorRole::kOutput);
  chain.copy(x, y);
  chain.copy(w, y);
  const std::vector<CacheLevel> levels{{1, kMiB / 8, 2, 64}, {2, kMiB / 8, 1, 64}};
  const auto traffic = modelled_traffic(chain.graph, levels, CachePolicy::kWarm);
  CHECK(fills_mib(traffic[0][0]) == Catch::Approx(2));
  CHECK(fills_mib(traffic[1][0]) == Catch::Approx(3)); // the weight twice
  CHECK(fills_mib(traffic[1][1]) == Catch::Approx(2)); // the shared level once
}

TEST_CASE("cache model: the columns name the border by the level beyond it") {
  const Graph graph = two_copies().graph;
  const std::vector<CacheLevel> three{{1, 1024, 1, 64}, {2, kMiB * 5 / 2, 1, 64}, {3, 100 * kMiB, 1, 64}};
  const auto traffic = level_traffic(graph, three, CachePolicy::kWarm);
  CHECK(traffic[0].l2_bytes == 3 * kMiB);
  CHECK(traffic[0].l3_bytes == kMiB);
  CHECK(traffic[1].l3_bytes == 2 * kMiB);
  CHECK(traffic[0].dram_bytes == 0);
  CHECK(traffic[0].dram_fill_bytes == 0);
  const auto two = level_traffic(graph, {three[0], three[1]}, CachePolicy::kWarm);
  CHECK_FALSE(two[0].l3_bytes);
  CHECK(two[1].dram_bytes == 2 * kMiB);
  CHECK(two[1].dram_fill_bytes == kMiB);
  CHECK_FALSE(level_traffic(graph, {}, CachePolicy::kWarm)[0].dram_bytes);
}

TEST_CASE("cache model: levels follow from the system's list and the threads") {
  const std::vector<Cache> caches{
      {1, "data", 32 << 10, 64, 1, 8}, {2, "unified", 512 << 10, 64, 1, 8}, {3, "unified", 32 << 20, 64, 8, 1}};
  const auto levels = cache_levels(caches, 4);
  REQUIRE(levels.size() == 3);
  CHECK(levels[0] == CacheLevel{1, 32 << 10, 4, 64});
  CHECK(levels[2] == CacheLevel{3, 32 << 20, 1, 64});
  CHECK(text_of(levels) == "4 x 32 KiB L1, 4 x 512 KiB L2, 32 MiB L3");
  CHECK(cache_levels(caches, 1)[1].copies == 1);
  CHECK(cache_levels({}, 2).empty());
}

TEST_CASE("cache model: farther levels move no more, and without caches all bytes move") {
  const Graph launches = operators::plan_launches(
      operators::build(operators::resolve(operators::parse_case_id("layout=standard:variant=mha:seq_len=196"))),
      "eager");
  const std::vector<CacheLevel> levels{{1, 32 << 10, 1, 64}, {2, 512 << 10, 1, 64}, {3, 4 << 20, 1, 64}};
  const auto traffic = modelled_traffic(launches, levels, CachePolicy::kWarm);
  const auto tiny = modelled_traffic(launches, {{1, 64, 1, 64}}, CachePolicy::kWarm);
  const operators::Cost cost = operators::cost_of(launches);
  for (std::size_t i = 0; i < traffic.size(); ++i) {
    CHECK(traffic[i][0].fill_bytes + 0.5 >= traffic[i][1].fill_bytes);
    CHECK(traffic[i][1].fill_bytes + 0.5 >= traffic[i][2].fill_bytes);
    CHECK(tiny[i][0].fill_bytes ==
          Catch::Approx(static_cast<double>(cost.launches[i].bytes.working_set.value())).epsilon(0.01));
  }
}
