// Which metrics of CUPTI stand for which quantity, by what the chip has and by the dtype of the case.
#pragma once
#include "operators/core/dtype.hpp"
#include "operators/core/product_math.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attnprof::profilers {

/// What a GPU counts of one launch.
enum class GpuQuantity { kDramBytes, kL2Bytes, kL1Bytes, kTensorOps, kFp32Ops, kFp16Ops, kFp64Ops, kExpInstructions };
inline constexpr std::array kGpuQuantities = {
    GpuQuantity::kDramBytes, GpuQuantity::kL2Bytes, GpuQuantity::kL1Bytes, GpuQuantity::kTensorOps,
    GpuQuantity::kFp32Ops,   GpuQuantity::kFp16Ops, GpuQuantity::kFp64Ops, GpuQuantity::kExpInstructions};
std::string_view name_of(GpuQuantity quantity);

/// A quantity is the sum of factor * metric.
struct MetricTerm {
  std::string metric; ///< with its rollup, "dram__bytes_read.sum"
  double factor = 1;
};
struct PlannedQuantity {
  GpuQuantity quantity;
  std::vector<MetricTerm> terms;
};
struct MetricPlan {
  std::vector<PlannedQuantity> quantities;
  std::vector<std::pair<GpuQuantity, std::string>> absent; ///< and why
  /// All metrics, in order of the quantities.
  [[nodiscard]] std::vector<std::string> metrics() const;
};

/// The plan for a chip that has these base metrics (sorted), and a case of this dtype: two passes over the work on
/// every chip since GA100. Tensor operations and exp-type instructions together would take a third, so halves and tf32
/// count the former and f32, which this program multiplies without tensor cores, the latter.
MetricPlan plan_metrics(const std::vector<std::string>& base_names, operators::DType dtype,
                        operators::ProductMath math = operators::ProductMath::kF32);

/// What a launch counted; absent where it was not planned or CUPTI gave no number.
struct GpuCounts {
  std::array<std::optional<double>, kGpuQuantities.size()> values;
  [[nodiscard]] std::optional<double> of(GpuQuantity quantity) const {
    return values[static_cast<std::size_t>(quantity)];
  }
  bool operator==(const GpuCounts&) const = default;
};
/// `values`: of plan.metrics(), in that order.
GpuCounts evaluate(const MetricPlan& plan, const std::vector<double>& values);
/// Quantity by quantity; absent where either is.
GpuCounts operator+(const GpuCounts& a, const GpuCounts& b);

/// Floating-point operations of all units together; absent where a unit that runs them was not counted.
std::optional<double> all_ops(const GpuCounts& counts);

} // namespace attnprof::profilers
