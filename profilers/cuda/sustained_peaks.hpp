#pragma once
#include "operators/kernels/gpu/device.hpp"

struct CUctx_st;

namespace attnprof::profilers::cuda {

/// A peak that CUPTI states: `factor` times its metric.
struct SustainedMetric {
  std::string what; ///< as DeviceCeiling::what
  std::string metric;
  double factor = 1;
};

/// Those that the chip with these base metrics (sorted) has.
std::vector<SustainedMetric> sustained_metrics(const std::vector<std::string>& base_names);

/// Fills `sustained`, or the reason why there is none. `run` starts any short kernel: the peaks come with a counting
/// run.
void add_sustained_peaks(operators::gpu::DeviceCeilings& out, CUctx_st* context, const std::string& chip,
                         const std::function<void()>& run);

} // namespace attnprof::profilers::cuda
