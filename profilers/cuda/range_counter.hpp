#pragma once
#include "operators/kernels/gpu/device.hpp"

#include <functional>
#include <string>
#include <vector>

struct CUctx_st;

namespace attnprof::profilers::cuda {

/// Why counters cannot be read from this device; empty where they can. The device must have a current context: two of
/// CUPTI's functions crash without one.
std::string counter_refusal(int device, CUctx_st* context);

/// The name under which CUPTI knows the device's chip; empty where it knows none.
std::string chip_name(int device);

/// Counts metrics over ranges, one per launch: user ranges, replayed by running all launches again for each pass.
operators::gpu::CounterReport count_ranges(CUctx_st* context, const std::string& chip,
                                           const std::vector<std::string>& metrics, std::size_t launches,
                                           const std::function<void(std::size_t)>& run_launch);

} // namespace attnprof::profilers::cuda
