// Every golden file and every sample case on the emulated GPU kernels, in both plans.
#include "operators/core/plan.hpp"
#include "operators/core/product_math.hpp"
#include "operators/exec/gpu_executor.hpp"
#include "operators/exec/reference.hpp"
#include "operators/exec/verify.hpp"
#include "operators/workload.hpp"
#include "tests/gpu_emulation/device.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/paths.hpp"

using namespace attnprof::operators;
using attnprof::tests::emulation::EmulatedDevice;

namespace {

/// Largest result of a case; below 2^-14 half precision holds it as a subnormal, with few digits or none.
double largest_result(const Config& config) {
  const Graph launches = plan_launches(build(config), "eager");
  double largest = 0.0;
  for (const auto& [id, values] : run_reference(launches, reference_inputs(launches, ExecOptions().seed))) {
    for (const double value : values) {
      largest = std::max(largest, std::abs(value));
    }
  }
  return largest;
}

} // namespace

TEST_CASE("golden vectors hold on the emulated GPU kernels, eager and fused", "[gpu]") {
  const auto gpu = make_gpu_executor(std::make_shared<EmulatedDevice>());
  std::size_t checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(attnprof::tests::test_files_dir() / "golden")) {
    if (entry.path().extension() == ".json") {
      const Verification result = verify_golden(entry.path(), {gpu.get()});
      INFO(result.name << ": " << result.detail);
      CHECK(result.passed);
      CHECK(result.detail.find("cuda eager") != std::string::npos);
      CHECK(result.detail.find("cuda fused") != std::string::npos);
      ++checked;
    }
  }
  CHECK(checked >= 14);
}

TEST_CASE("every sample case holds on the emulated GPU kernels in each dtype", "[gpu]") {
  std::size_t too_small = 0;
  const auto gpu = make_gpu_executor(std::make_shared<EmulatedDevice>());
  for (Config config : sample_cases()) {
    for (const char* dtype : {"f32", "bf16", "f16"}) {
      config.set("dtype", std::string(dtype));
      const Verification result = verify_case(config, {gpu.get()});
      INFO(result.name << ": " << result.detail);
      CHECK(result.detail.find("unsupported") == std::string::npos);
      if (!result.passed && config.text("dtype") == "f16" && largest_result(config) < 0x1p-14) {
        ++too_small;
        continue;
      }
      CHECK(result.passed);
    }
  }
  CHECK(too_small <= 1);
}

TEST_CASE("products in tf32 hold to their own tolerance, and are not those of f32", "[gpu]") {
  const auto gpu = make_gpu_executor(std::make_shared<EmulatedDevice>());
  std::size_t rounded = 0;
  std::size_t checked = 0;
  for (Config config : sample_cases()) {
    config.set("math", std::string("tf32"));
    const Verification result = verify_case(config, {gpu.get()});
    INFO(result.name << ": " << result.detail);
    CHECK(result.name.find(":math=tf32") != std::string::npos);
    CHECK(result.passed);
    const Graph launches = plan_launches(build(config), "eager");
    ExecOptions options;
    options.math = ProductMath::kTf32;
    const double error = error_against_reference(*gpu->prepare(launches, options), launches, options.seed);
    rounded += error > tolerance_of(launches) ? 1 : 0;
    ++checked;
  }
  CHECK(rounded > checked / 2);
}
