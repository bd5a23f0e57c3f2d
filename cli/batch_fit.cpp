#include "cli/batch_fit.hpp"

#include "operators/core/cost.hpp"
#include "operators/core/error.hpp"
#include "operators/core/plan.hpp"
#include "operators/workload.hpp"

#include <limits>

namespace attnprof::cli {
namespace {

/// A larger batch whose size does not fit 64 bits fits no memory either; where one sequence has no size, there is no
/// answer.
std::int64_t bytes_at(operators::Config config, std::int64_t batch) {
  config.set("batch", batch);
  try {
    const operators::Graph launches = operators::plan_launches(operators::build(config), config.text("plan"));
    const operators::Totals totals = operators::cost_of(launches).totals;
    return (totals.weight_bytes + totals.kv_cache_bytes + totals.peak_activation_bytes).value();
  } catch (const operators::Error& error) {
    if (error.kind() == operators::ErrorKind::kOverflow && batch > 1) {
      return std::numeric_limits<std::int64_t>::max();
    }
    throw;
  }
}

} // namespace

BatchFit largest_batch(const operators::Config& config, std::int64_t memory_bytes) {
  const std::int64_t one = bytes_at(config, 1);
  if (one > memory_bytes) {
    return {0, one};
  }
  std::int64_t fits = 1;
  std::int64_t bytes = one;
  std::int64_t beyond = 2;
  constexpr std::int64_t kMost = 1'000'000'000;
  while (beyond < kMost) {
    const std::int64_t needed = bytes_at(config, beyond);
    if (needed > memory_bytes) {
      break;
    }
    fits = beyond;
    bytes = needed;
    beyond *= 2;
  }
  while (beyond - fits > 1) {
    const std::int64_t middle = fits + (beyond - fits) / 2;
    const std::int64_t needed = bytes_at(config, middle);
    if (needed <= memory_bytes) {
      fits = middle;
      bytes = needed;
    } else {
      beyond = middle;
    }
  }
  return {fits, bytes};
}

} // namespace attnprof::cli
