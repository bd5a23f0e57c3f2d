// The fused attention kernels, emulated: with plain multiply-adds, and on tensor cores through an emulation of
// mma.m16n8k16, against the float64 reference.
#include "operators/core/builder.hpp"
#include "operators/exec/gpu_executor.hpp"
#include "operators/exec/reference.hpp"
#include "operators/exec/verify.hpp"
#include "operators/kernels/gpu/plan.hpp"
#include "tests/gpu_emulation/device.hpp"
#include "tests/support/catch.hpp"

using namespace attnprof::operators;
using attnprof::tests::emulation::EmulatedDevice;

namespace {

struct Case {
  std::int64_t batch, kv_heads, group, n_q, n_k, qk_dim, v_dim;
  Mask mask;
  bool bias;
  double scale;
  Attention::Weights weights = Attention::Weights::kSoftmax;
};

constexpr auto kSquares = Attention::Weights::kSquaredRelu;

const std::vector<Case> kCases{
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
};

Graph attention_graph(DType dtype, const Case& c, bool strided) {
  GraphBuilder builder(dtype);
  // Strided: heads beside each other in a row of a projection, as the fused plan reads them.
  const auto heads = [&](const std::string& name, std::int64_t count, std::int64_t tokens, std::int64_t width) {
    if (strided) {
      return builder.input(name, {c.batch, tokens, count * width}).split(2, count, width).transpose(1, 2);
    }
    return builder.input(name, {c.batch, count, tokens, width});
  };
  Attention op;
  op.q = heads("q", c.kv_heads * c.group, c.n_q, c.qk_dim).split(1, c.kv_heads, c.group);
  op.k = heads("k", c.kv_heads, c.n_k, c.qk_dim);
  op.v = heads("v", c.kv_heads, c.n_k, c.v_dim);
  op.y = heads("y", c.kv_heads * c.group, c.n_q, c.v_dim).split(1, c.kv_heads, c.group);
  op.scale = c.scale;
  op.mask = c.mask;
  op.tiles = {64, 64};
  op.weights = c.weights;
  if (c.bias) {
    op.bias =
        builder.input("bias", {c.kv_heads * c.group, c.n_q, c.n_k}).split(0, c.kv_heads, c.group).broadcast(0, c.batch);
  }
  Graph graph = builder.take();
  graph.tensors[static_cast<std::size_t>(op.y.tensor)].role = TensorRole::kOutput;
  graph.ops.push_back({"attention", op});
  return graph;
}

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
      CHECK(args.tensor_cores == (dtype != DType::kF32));
    }
  }
  CHECK(tensor_cores == 2 * kCases.size());
  CHECK(split >= 10);
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
  Case wide = kCases[1];
  wide.qk_dim = 2048;
  const Graph graph = attention_graph(DType::kF32, wide, false);
  const auto reason = make_gpu_executor(device)->unsupported(graph);
  REQUIRE(reason);
  CHECK_THAT(*reason, Catch::Contains("2048 wide need") && Catch::Contains("this device has 49152"));
}
