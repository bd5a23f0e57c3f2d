// What cuBLASLt is told about a product, as far as that needs no GPU; and what the plugin says without one.
#include "operators/core/error.hpp"
#include "operators/exec/gpu_plugin.hpp"
#include "operators/kernels/cuda/product_lt.hpp"
#include "operators/kernels/cuda/sdpa_cudnn.hpp"
#include "profilers/cuda/cuda_device.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/paths.hpp"

#include <cuda_runtime_api.h>

using namespace attnprof::operators;
using namespace attnprof::operators::gpu;

namespace {

ProductArgs product(std::vector<StepArgs> steps) {
  ProductArgs args;
  args.m = 4;
  args.n = 16;
  args.k = 8;
  args.c_row = 16;
  args.c_column = 1;
  for (const StepArgs& step : steps) {
    args.steps.steps[args.steps.count++] = step;
  }
  return args;
}

StepArgs step(StepFn fn, std::int64_t row = 0, std::int64_t column = 0) {
  static std::byte somewhere[16];
  StepArgs out;
  out.fn = fn;
  out.value = 0.5F;
  out.operand.address = row + column > 0 ? somewhere : nullptr;
  out.operand.strides[0] = row;
  out.operand.strides[1] = column;
  return out;
}

} // namespace

TEST_CASE("cublaslt: bias, residual and activation go into the product, what follows into a pass", "[gpu]") {
  const StepArgs bias = step(StepFn::kAdd, 0, 1);
  const StepArgs residual = step(StepFn::kAdd, 16, 1);
  const ProductEpilogue all = split_steps(product({step(StepFn::kScale), bias, residual, step(StepFn::kRelu)}));
  CHECK(all.taken == 4);
  CHECK(all.alpha == 0.5F);
  CHECK(all.bias == 1);
  CHECK(all.residual == 2);
  CHECK(all.activation == 1);
  // The library's GELU is the tanh form; the erf form is another function.
  CHECK(split_steps(product({bias, step(StepFn::kGelu)})).taken == 1);
  CHECK(split_steps(product({bias, step(StepFn::kGeluTanh)})).activation == 2);
  CHECK(split_steps(product({step(StepFn::kRelu), bias})).taken == 1);  // nothing after an activation
  CHECK(split_steps(product({bias, step(StepFn::kScale)})).taken == 1); // a scale only in front
  StepArgs other = bias;
  other.operand.dtype = DType::kBf16;
  CHECK(split_steps(product({other})).taken == 0);
  CHECK(split_steps(product({step(StepFn::kAdd, 1, 4)})).taken == 0); // a transposed residual
}

TEST_CASE("cublaslt: the pass behind a product holds the steps that are left, in place", "[gpu]") {
  ProductArgs args = product({step(StepFn::kAdd, 0, 1), step(StepFn::kGelu)});
  args.batch.rank = 1;
  args.batch.dims[0] = 3;
  args.batch.count = 3;
  args.c.strides[0] = 64;
  const ElementwiseArgs pass = remaining_pass(args, 1);
  CHECK(pass.space.rank == 3);
  CHECK(pass.space.count == 3 * 4 * 16);
  CHECK(pass.steps.count == 1);
  CHECK(pass.steps.steps[0].fn == StepFn::kGelu);
  CHECK(pass.x.strides[1] == 16);
  CHECK(pass.wide);
}

TEST_CASE("cublaslt: factors are column-major to it", "[gpu]") {
  CHECK_FALSE(factor_layout(3, 5, 5, 1)->transposed);
  CHECK(factor_layout(3, 5, 7, 1)->leading == 7);
  CHECK(factor_layout(3, 5, 1, 3)->transposed);
  CHECK_FALSE(factor_layout(3, 5, 2, 10)); // no dense dimension
  CHECK(factor_layout(1, 5, 99, 2)->leading == 2);
}

TEST_CASE("cudnn: what its attention node cannot express stays with the own kernel", "[gpu]") {
  AttentionArgs args;
  args.batch = args.kv_heads = args.group = 1;
  args.n_q = args.n_k = 64;
  args.qk_dim = args.v_dim = 64;
  for (Operand* operand : {&args.q, &args.k, &args.v, &args.y}) {
    operand->dtype = DType::kBf16;
    operand->strides[4] = 1;
  }
  CHECK(cudnn_shape_refusal(args).empty());
  AttentionArgs other = args;
  other.masked = true;
  CHECK_THAT(cudnn_shape_refusal(other), Catch::Contains("masks"));
  other = args;
  other.v.dtype = DType::kF16;
  CHECK_THAT(cudnn_shape_refusal(other), Catch::Contains("one dtype"));
  other = args;
  other.qk_dim = 12;
  CHECK_THAT(cudnn_shape_refusal(other), Catch::Contains("multiples of 8"));
  other = args;
  other.k.strides[4] = 2;
  CHECK_THAT(cudnn_shape_refusal(other), Catch::Contains("dense"));
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    CHECK_FALSE(CudnnAttention(nullptr).refusal(args).empty()); // no device: the library cannot start
  }
}

TEST_CASE("the plugin of this build loads, fits, and says that there is no GPU where there is none", "[gpu]") {
  const LoadedPlugin plugin = load_plugin(std::filesystem::path(attnprof::tests::binary()).parent_path() / kPluginFile);
  INFO(plugin.error);
  REQUIRE(plugin.error.empty());
  CHECK(plugin.identity().abi == kPluginAbi);
  CHECK(plugin.identity().build_id == build_id());
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    CHECK_THROWS_WITH(plugin.open(), Catch::Contains("--device cuda is not possible"));
    CHECK_THROWS_AS(attnprof::profilers::cuda::open_cuda_device(0), Error);
  }
}
