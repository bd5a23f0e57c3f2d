// The metric plans against CUPTI's own knowledge of the chips, which needs no GPU.
#include "operators/core/error.hpp"
#include "profilers/cuda/metric_catalog.hpp"
#include "profilers/cuda/sustained_peaks.hpp"
#include "profilers/gpu/metric_plan.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

using namespace attnprof::profilers;
using attnprof::operators::DType;

TEST_CASE("metric plans: every metric exists and a case takes two passes, on each chip and dtype", "[gpu]") {
  for (const char* chip : {"GH100", "GA100", "AD102", "GB100", "GB202"}) {
    const std::vector<std::string> names = cuda::metric_names(chip);
    CHECK(names.size() > 2000);
    for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
      INFO(chip << " " << attnprof::operators::name_of(dtype));
      const MetricPlan plan = plan_metrics(names, dtype);
      CHECK(plan.quantities.size() == kGpuQuantities.size() - 1);
      CHECK(plan.absent.size() == 1);
      CHECK(cuda::configure(chip, plan.metrics()).passes == 2);
    }
    const MetricPlan tf32 = plan_metrics(names, DType::kF32, attnprof::operators::ProductMath::kTf32);
    CHECK(tf32.quantities.size() == kGpuQuantities.size() - 1);
    CHECK(tf32.absent.size() == 1);
    CHECK(cuda::configure(chip, tf32.metrics()).passes == 2);
  }
}

TEST_CASE("sustained peaks: every chip has the metrics of all ceilings, in few passes", "[gpu]") {
  for (const char* chip : {"GH100", "GA100", "AD102", "GB100", "GB202"}) {
    INFO(chip);
    std::vector<std::string> metrics;
    std::vector<std::string> ceilings;
    for (const cuda::SustainedMetric& one : cuda::sustained_metrics(cuda::metric_names(chip))) {
      metrics.push_back(one.metric);
      ceilings.push_back(one.what);
    }
    CHECK(ceilings ==
          std::vector<std::string>{"fma f32", "exp f32", "tensor bf16", "tensor f16", "tensor tf32", "L2", "DRAM"});
    CHECK(cuda::configure(chip, metrics).passes <= 8);
  }
  CHECK(cuda::sustained_metrics(cuda::metric_names("GV100")).size() >= 3);
}

TEST_CASE("metric plans: an older chip has what it can count, and says what it cannot", "[gpu]") {
  const MetricPlan plan = plan_metrics(cuda::metric_names("TU102"), DType::kBf16);
  CHECK(std::any_of(plan.absent.begin(), plan.absent.end(),
                    [](const auto& one) { return one.first == GpuQuantity::kTensorOps; }));
  CHECK(cuda::configure("TU102", plan.metrics()).passes <= 2);
}

TEST_CASE("metric catalog: an unknown chip and an unknown metric are errors that name them", "[gpu]") {
  CHECK_THROWS_WITH(cuda::metric_names("H100"), Catch::Contains("no chip 'H100'"));
  CHECK_THROWS_WITH(cuda::configure("GH100", {"dram__bytes_imagined.sum"}),
                    Catch::Contains("dram__bytes_imagined.sum"));
}
