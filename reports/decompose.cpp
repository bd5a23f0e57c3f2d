#include "reports/decompose.hpp"

#include "reports/derive.hpp"

#include <cmath>

namespace attnprof::reports {

std::optional<ModelTimes> model_times(const profilers::Record& record, const Roofs& roofs) {
  if (record.launches.empty()) {
    return std::nullopt;
  }
  ModelTimes out;
  const Residence residence = residence_of(record);
  for (const profilers::LaunchRecord& launch : record.launches) {
    const TimeBounds bounds = time_bounds(launch.cost, roofs, residence);
    if (!bounds.complete) {
      return std::nullopt;
    }
    out.work_s += bounds.matrix_s.value_or(0) + bounds.vector_s.value_or(0) + bounds.transcendental_s.value_or(0);
    out.bytes_s += bounds.memory_s.value_or(0);
    out.launches_s += bounds.overhead_s.value_or(0);
  }
  return out;
}

std::optional<Decomposition> decompose(const ModelTimes& base, const ModelTimes& other, double log_ratio) {
  const double a = base.total_s();
  const double b = other.total_s();
  if (!(a > 0) || !(b > 0)) {
    return std::nullopt;
  }
  const double model = std::log(b / a);
  // Near a = b the quotient loses its digits, and the mean is all but the midpoint.
  const double mean = std::abs(model) < 1e-9 ? (a + b) / 2 : (b - a) / model;
  return Decomposition{(other.work_s - base.work_s) / mean, (other.bytes_s - base.bytes_s) / mean,
                       (other.launches_s - base.launches_s) / mean, log_ratio - model};
}

} // namespace attnprof::reports
