// The fused attention kernels, emulated: with plain multiply-adds, and on tensor cores through an emulation of
// mma.m16n8k16, against the float64 reference.
#include "operators/exec/gpu_executor.hpp"
#include "operators/exec/reference.hpp"
#include "operators/exec/verify.hpp"
#include "operators/kernels/gpu/plan.hpp"
#include "tests/gpu_emulation/device.hpp"
#include "tests/support/attention_case.hpp"
#include "tests/support/catch.hpp"

using namespace attnprof::operators;
using attnprof::tests::attention_graph;
using attnprof::tests::AttentionCase;
using attnprof::tests::emulation::EmulatedDevice;

namespace {

constexpr auto kSquares = Attention::Weights::kSquaredRelu;

const std::vector<AttentionCase> kCases{
    {1, 1, 1, 1, 1, 1, 1, {}, false, 1.0},
    {1, 2, 1, 100, 100, 64, 64, {}, false, 0.125},
    {1, 2, 2, 33, 70, 24, 40, {true, 0}, false, 0.2},
    {1, 2, 1, 70, 33, 16, 16, {true, 0}, false, 0.25}, // the first rows attend to nothing
    {1, 2, 2, 90, 90, 20, 12, {true, 17}, false, 0.3},
    {2, 1, 3, 17, 45, 33, 9, {}, true, 0.2},
    {1, 3, 1, 40, 40, 8, 72, {true, 0}, true, -0.5}, // a negative scale turns the maximum round
    {1, 1, 1, 66, 66, 32, 200, {}, false, 0.2},      // values wider than a block holds
    // Few rows and many keys: the keys are split.
    {1, 3, 1, 1, 777, 64, 64, {}, false, 0.125},
    {1, 1, 8, 1, 1000, 32, 48, {}, false, 0.2},
    {1, 2, 4, 2, 300, 24, 20, {true, 0}, false, 0.2},
    {1, 1, 1, 4, 513, 16, 8, {true, 100}, true, 0.3},
    {1, 2, 1, 5, 3, 16, 8, {true, 0}, false, 0.3},
    {1, 1, 2, 40, 50, 16, 24, {true, 0}, false, 0.01, kSquares},
    {1, 1, 1, 3, 600, 16, 24, {}, false, 0.01, kSquares},
    // Members of a group share a tile, which ends in the middle of the next one.
    {1, 2, 2, 40, 400, 16, 16, {true, 0}, false, 0.25},
    {2, 2, 4, 50, 50, 4, 4, {true, 20}, false, 0.5},
    // Tall tiles, of whole and of ragged key tiles, masked and not.
    {2, 2, 2, 256, 256, 64, 64, {true, 0}, false, 0.125},
    {4, 4, 1, 250, 200, 48, 128, {}, false, 0.15},
    {4, 4, 1, 128, 300, 32, 30, {true, 0}, true, 0.2},
    {4, 4, 1, 190, 190, 40, 36, {true, 50}, false, 0.2},
};

double error_of(const Graph& graph, const std::shared_ptr<EmulatedDevice>& device) {
  const auto executor = make_gpu_executor(device);
  REQUIRE_FALSE(executor->unsupported(graph));
  return error_against_reference(*executor->prepare(graph, {}), graph, 1);
}

gpu::AttentionArgs args_of(const Graph& graph, const EmulatedDevice& device) {
  return std::get<gpu::AttentionArgs>(gpu::plan_launch(graph, graph.ops.front(), device.described, {}));
}

} // namespace

TEST_CASE("gpu attention: masks, windows, groups, bias, split keys, in each dtype", "[gpu]") {
  std::size_t tensor_cores = 0;
  std::size_t split = 0;
  std::size_t tall = 0;
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
    for (std::size_t i = 0; i < kCases.size(); ++i) {
      const auto device = std::make_shared<EmulatedDevice>();
      device->described.multiprocessors = 16; // enough to want a split
      const Graph graph = attention_graph(dtype, kCases[i], i % 2 == 1);
      INFO(name_of(dtype) << " case " << i);
      // Weights of tensor cores are rounded to 16 bits before they multiply the values.
      CHECK(error_of(graph, device) <= (dtype == DType::kF32 ? 2e-6 : dtype == DType::kBf16 ? 6e-3 : 8e-4));
      const gpu::AttentionArgs args = args_of(graph, *device);
      tensor_cores += args.tensor_cores ? 1 : 0;
      split += args.splits > 1 ? 1 : 0;
      tall += args.tile_rows == 128 ? 1 : 0;
      CHECK(args.tensor_cores == (dtype != DType::kF32));
    }
  }
  CHECK(tensor_cores == 2 * kCases.size());
  CHECK(split >= 10);
  CHECK(tall >= 4); // wide values, in both 16-bit types
}

TEST_CASE("gpu attention: tiles of keys are doubled where shared memory has room, and tall tiles fill the device",
          "[gpu]") {
  const auto device = std::make_shared<EmulatedDevice>();
  const Graph graph = attention_graph(DType::kBf16, {1, 8, 1, 128, 130, 128, 128, {}, false, 0.1}, false);
  const auto tiles_at = [&](std::int64_t shared_bytes, int multiprocessors) {
    device->described.shared_bytes = shared_bytes;
    device->described.multiprocessors = multiprocessors;
    const gpu::AttentionArgs args = args_of(graph, *device);
    CHECK(args.shared_bytes <= shared_bytes);
    CHECK(error_of(graph, device) <= 6e-3);
    return std::tuple(args.tensor_cores, args.tile_rows, args.stages);
  };
  CHECK(tiles_at(227 * 1024, 8) == std::tuple(true, 128, 2));  // as on compute capability 9.0
  CHECK(tiles_at(163 * 1024, 8) == std::tuple(true, 128, 1));  // 8.0: so that two blocks fit
  CHECK(tiles_at(227 * 1024, 132) == std::tuple(true, 64, 2)); // eight tiles would leave the device idle
  CHECK(tiles_at(60 * 1024, 8) == std::tuple(true, 64, 1));
  CHECK(tiles_at(48 * 1024, 8) == std::tuple(false, 16, 1));
}

TEST_CASE("gpu attention: without tensor cores halves go through plain multiply-adds", "[gpu]") {
  const auto device = std::make_shared<EmulatedDevice>();
  device->described.compute_major = 7;
  const Graph graph = attention_graph(DType::kF16, kCases[2], true);
  CHECK_FALSE(args_of(graph, *device).tensor_cores);
  CHECK(error_of(graph, device) <= 8e-4);
}

TEST_CASE("gpu attention: heads too wide for the shared memory of a block are refused with both sizes", "[gpu]") {
  const auto device = std::make_shared<EmulatedDevice>();
  device->described.shared_bytes = 48 * 1024;
  AttentionCase wide = kCases[1];
  wide.qk_dim = 2048;
  const Graph graph = attention_graph(DType::kF32, wide, false);
  const auto reason = make_gpu_executor(device)->unsupported(graph);
  REQUIRE(reason);
  CHECK_THAT(*reason, Catch::Contains("2048 wide need") && Catch::Contains("this device has 49152"));
}
