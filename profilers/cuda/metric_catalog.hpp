#pragma once
#include <cstdint>
#include <string>
#include <vector>

// CUPTI's host side, which knows every chip's metrics without a device or a driver.
namespace attnprof::profilers::cuda {

/// Base names of the counters of a chip, sorted. Throws operators::Error(kUnavailable) where CUPTI does not know it.
std::vector<std::string> metric_names(const std::string& chip);

/// What a device needs to count a set of metrics, and the passes over the work that it takes.
struct MetricConfig {
  std::vector<std::uint8_t> image;
  std::int64_t passes = 0;
};
/// Throws operators::Error(kUnavailable) for a metric that the chip lacks.
MetricConfig configure(const std::string& chip, const std::vector<std::string>& metrics);

} // namespace attnprof::profilers::cuda
