// Times of launches from kernel records, counters from metric values, and the device's clock: pure functions.
#include "profilers/gpu/device_clock.hpp"
#include "profilers/gpu/launch_times.hpp"
#include "profilers/gpu/metric_plan.hpp"
#include "tests/gpu_emulation/device.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_clock.hpp"

using namespace attnprof::profilers;
using attnprof::operators::DType;
using attnprof::operators::gpu::ActivityReport;
using attnprof::tests::FakeClock;

namespace {

/// The metrics of GH100 that the plans may ask for.
std::vector<std::string> hopper_names() {
  std::vector<std::string> out = {"dram__bytes_read",
                                  "dram__bytes_write",
                                  "l1tex__t_bytes",
                                  "lts__t_bytes",
                                  "sm__inst_executed_pipe_xu",
                                  "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off",
                                  "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32_sparsity_off",
                                  "sm__ops_path_tensor_src_bf16_dst_fp32"};
  for (const char* op : {"fadd", "fmul", "ffma", "hadd", "hmul", "hfma", "dadd", "dmul", "dfma"}) {
    out.push_back(std::string("sm__sass_thread_inst_executed_op_") + op + "_pred_on");
  }
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace

TEST_CASE("gpu launch times: medians over runs, several kernels a launch, gaps between them", "[gpu]") {
  const ActivityReport first{{{0, "a", 1000, 2000}, {1, "b", 2500, 3000}, {1, "c", 3000, 3400}}, 0, 0, ""};
  const ActivityReport second{{{0, "a", 1000, 2200}, {1, "b", 2700, 3200}, {1, "c", 3200, 3600}}, 0, 0, ""};
  const TracedTimes times = traced_times({first, second, first}, 2);
  CHECK(*times.launch_s[0] == Catch::Approx(1e-6));
  CHECK(*times.launch_s[1] == Catch::Approx(0.9e-6));
  CHECK(*times.kernel_s == Catch::Approx(1.9e-6));
  CHECK(*times.gap_s == Catch::Approx(0.5e-6));
  CHECK(times.kernels == 3);
  CHECK(times.warnings.empty());
}

TEST_CASE("gpu launch times: what was not recorded stays absent and is told", "[gpu]") {
  const ActivityReport report{{{0, "a", 1000, 2000}, {-1, "x", 2000, 9000}, {5, "y", 2000, 9000}}, 3, 1, ""};
  const TracedTimes times = traced_times({report}, 2);
  CHECK(times.launch_s[0]);
  CHECK_FALSE(times.launch_s[1]);
  CHECK_FALSE(times.kernel_s); // a sum over some of the launches would look fast
  REQUIRE(times.warnings.size() == 1);
  CHECK_THAT(times.warnings[0], Catch::Contains("3 were dropped, 1 had no time and 2 belong to no launch"));
}

TEST_CASE("gpu metrics: by dtype, with the factors of fused and paired operations", "[gpu]") {
  const MetricPlan f32 = plan_metrics(hopper_names(), DType::kF32);
  std::vector<double> values;
  for (const std::string& metric : f32.metrics()) {
    values.push_back(metric.find("ffma") != std::string::npos   ? 10
                     : metric.find("hfma") != std::string::npos ? 3
                     : metric.find("dram") != std::string::npos ? 100
                     : metric.find("xu") != std::string::npos   ? 2
                                                                : 1);
  }
  const GpuCounts counts = evaluate(f32, values);
  CHECK(*counts.of(GpuQuantity::kDramBytes) == 200);
  CHECK(*counts.of(GpuQuantity::kFp32Ops) == 1 + 1 + 20);
  CHECK(*counts.of(GpuQuantity::kFp16Ops) == 2 + 2 + 12);
  CHECK(*counts.of(GpuQuantity::kFp64Ops) == 1 + 1 + 2);
  CHECK(*counts.of(GpuQuantity::kExpInstructions) == 64);
  CHECK_FALSE(counts.of(GpuQuantity::kTensorOps));
  CHECK(*all_ops(counts) == 22 + 16 + 4);
  const GpuCounts twice = counts + counts;
  CHECK(*twice.of(GpuQuantity::kDramBytes) == 400);
  CHECK_FALSE(twice.of(GpuQuantity::kTensorOps));
  const MetricPlan f16 = plan_metrics(hopper_names(), DType::kF16);
  REQUIRE(f16.absent.size() == 1);
  CHECK(f16.absent[0].first == GpuQuantity::kExpInstructions);
  // Products of f32 in tf32 run on tensor cores; the chip's list above has no metric for it.
  const MetricPlan tf32 = plan_metrics(hopper_names(), DType::kF32, attnprof::operators::ProductMath::kTf32);
  CHECK(tf32.absent.size() == 2);
  std::vector<std::string> more = hopper_names();
  more.insert(std::lower_bound(more.begin(), more.end(), "sm__ops_path_tensor_src_tf32_dst_fp32"),
              "sm__ops_path_tensor_src_tf32_dst_fp32");
  CHECK(plan_metrics(more, DType::kF32, attnprof::operators::ProductMath::kTf32).metrics().back() ==
        "sm__ops_path_tensor_src_tf32_dst_fp32.sum");
  CHECK(plan_metrics(hopper_names(), DType::kBf16).metrics().back() == "sm__ops_path_tensor_src_bf16_dst_fp32.sum");
}

TEST_CASE("gpu metrics: a chip without a metric, and a value that is none, leave the quantity absent", "[gpu]") {
  const MetricPlan none = plan_metrics({}, DType::kBf16);
  CHECK(none.quantities.empty());
  CHECK(none.absent.size() == kGpuQuantities.size());
  const MetricPlan plan = plan_metrics({"lts__t_bytes"}, DType::kF32);
  CHECK_FALSE(evaluate(plan, {NAN}).of(GpuQuantity::kL2Bytes));
  CHECK_FALSE(evaluate(plan, {}).of(GpuQuantity::kL2Bytes));
  CHECK_FALSE(all_ops(evaluate(plan, {5})));
}

namespace {

class WatchedDevice final : public attnprof::tests::emulation::EmulatedDevice {
 public:
  std::vector<bool> queued;
  double time_s(const std::function<void()>& body, bool is_queued) override {
    queued.push_back(is_queued);
    body();
    return 0.25;
  }
};

} // namespace

TEST_CASE("gpu clock: bodies are timed on the device, behind a gate where the queue holds them", "[gpu]") {
  WatchedDevice device;
  FakeClock host;
  DeviceClock clock(device, host, 100);
  int runs = 0;
  CHECK(clock.time_s([&] { ++runs; }, 2) == 0.25);
  CHECK(clock.time_s([&] { ++runs; }, 3) == 0.25);
  CHECK(runs == 2);
  CHECK(device.queued == std::vector<bool>{true, false});
  CHECK(clock.states().size() == 2);
  CHECK(clock.is_asynchronous());
  const std::int64_t before = clock.now_ns();
  host.advance_s(1);
  CHECK(clock.now_ns() - before > 1'000'000'000);
}
