// What cuBLASLt is told about a product, as far as that needs no GPU; and what the plugin says without one.
#include "operators/core/error.hpp"
#include "operators/exec/gpu_plugin.hpp"
#include "operators/kernels/cuda/product_lt.hpp"
#include "operators/kernels/cuda/sdpa_cudnn.hpp"
#include "profilers/cuda/cuda_device.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/paths.hpp"

#include <algorithm>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

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

namespace {

/// Dense heads beside each other, addresses null.
AttentionArgs attention(std::int64_t kv_heads, std::int64_t group, std::int64_t n_q, std::int64_t n_k,
                        std::int64_t width, bool masked) {
  AttentionArgs args;
  args.batch = 2;
  args.kv_heads = kv_heads;
  args.group = group;
  args.n_q = n_q;
  args.n_k = n_k;
  args.qk_dim = args.v_dim = width;
  args.masked = masked;
  for (Operand* operand : {&args.q, &args.k, &args.v, &args.y}) {
    const bool of_queries = operand == &args.q || operand == &args.y;
    const std::int64_t heads = of_queries ? kv_heads * group : kv_heads;
    const std::int64_t head = (of_queries ? n_q : n_k) * width;
    const std::int64_t strides[] = {heads * head, of_queries ? group * head : head, of_queries ? head : 0, width, 1};
    std::copy(std::begin(strides), std::end(strides), operand->strides);
    operand->dtype = DType::kBf16;
  }
  return args;
}

/// A device that cuDNN plans for without one. The figures of an H200; its PCI number is made up.
std::string device_json() {
  return R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
         R"("multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
         R"("maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,)"
         R"("maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":9013,"isTccDriver":0,)"
         R"("supportCoopLaunch":1,"totalGlobalMem":150754820096,"smClockRateKHz":1980000,"memClockRateKHz":3201000,)"
         R"("l2CacheSize":62914560,"cudaDeviceId":0,"deviceVer":900,"driverVer":13000,"deviceName":"NVIDIA H200"})";
}

} // namespace

TEST_CASE("cudnn: what is not asked of its attention stays with the own kernel, with the reason", "[gpu]") {
  const AttentionArgs args = attention(1, 1, 64, 64, 64, true);
  CHECK(cudnn_shape_refusal(args).empty());
  AttentionArgs other = args;
  other.window = 8;
  CHECK_THAT(cudnn_shape_refusal(other), Catch::Contains("windows"));
  other = args;
  other.n_k = 32;
  CHECK_THAT(cudnn_shape_refusal(other), Catch::Contains("without any key"));
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
    CudnnAttention without_device(nullptr); // the library cannot start
    CHECK_THAT(without_device.refusal(args), Catch::Contains("cudnn"));
    CHECK(without_device.workspace_bytes(args) == 0);
  }
}

TEST_CASE("cudnn: it has engines for causal masks, grouped heads and decoding on an H200", "[gpu]") {
  // Its planning asks for a driver to be there, and the toolkit's stub is enough.
  const std::string stub = std::string(ATTNPROF_CUDA_LIBRARIES) + "/stubs/libcuda.so";
  if (::dlopen("libcuda.so.1", RTLD_NOW) == nullptr && ::dlopen(stub.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    WARN("no driver and no stub of one: not checked");
    return;
  }
  const int engines = cudnn_engines(attention(8, 1, 1024, 1024, 64, false), device_json());
  if (engines < 0) {
    WARN("cuDNN is not installed: not checked");
    return;
  }
  CHECK(engines > 0);
  CHECK(cudnn_engines(attention(8, 1, 1024, 1024, 64, true), device_json()) > 0);
  CHECK(cudnn_engines(attention(8, 4, 1024, 1024, 128, true), device_json()) > 0);
  CHECK(cudnn_engines(attention(8, 4, 512, 1024, 64, true), device_json()) > 0); // aligned bottom right
  CHECK(cudnn_engines(attention(8, 4, 1, 4096, 128, false), device_json()) > 0);
  CHECK(cudnn_engines(attention(3, 1, 196, 196, 64, false), device_json()) > 0);
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
