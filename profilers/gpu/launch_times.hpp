// Times of launches from the kernels that the driver recorded.
#pragma once
#include "operators/kernels/gpu/device.hpp"

#include <optional>
#include <string>
#include <vector>

namespace attnprof::profilers {

struct TracedRun {
  std::vector<std::optional<double>> launch_s; ///< kernels of each launch together; absent: none was recorded
  std::vector<std::int64_t> kernels;           ///< of each launch
  double kernel_s = 0;                         ///< all kernels together
  double span_s = 0;                           ///< from the first begin to the last end
  std::int64_t unattributed = 0;               ///< kernels of no launch
};
TracedRun traced_run(const operators::gpu::ActivityReport& report, std::size_t launches);

/// Medians over several runs; a launch without a time in any of them has none.
struct TracedTimes {
  std::vector<std::optional<double>> launch_s;
  std::optional<double> kernel_s;
  std::optional<double> gap_s; ///< span without kernels: the device waited between launches
  std::int64_t kernels = 0;    ///< of one run
  std::vector<std::string> warnings;
};
TracedTimes traced_times(const std::vector<operators::gpu::ActivityReport>& runs, std::size_t launches);

} // namespace attnprof::profilers
