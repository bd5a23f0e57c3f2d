#pragma once
#include "operators/core/cost.hpp"
#include "operators/core/param.hpp"
#include "profilers/gpu/metric_plan.hpp"
#include "profilers/level_traffic.hpp"
#include "profilers/session.hpp"

#include <optional>
#include <string>
#include <vector>

namespace attnprof::profilers {

/// Every planned case ends in exactly one of these (R3).
enum class Status {
  kOk,
  kSkipped,     ///< not run for a stated reason: memory, time budget, interrupt
  kUnsupported, ///< this device or build cannot run it
  kInvalid,     ///< the configuration contradicts itself
  kIncorrect,   ///< ran, and the output differs from the reference by more than the tolerance
  kFailed,      ///< threw or crashed
};
std::string_view name_of(Status status);
/// Throws operators::Error(kUsage) for an unknown name.
Status status_from_name(std::string_view name);

/// One launch of a case: what it is, and how long it took in the separate per-launch pass.
struct LaunchRecord {
  operators::LaunchCost cost;
  std::string kernel_impl;             ///< empty where nothing ran
  std::optional<double> time_median_s; ///< from the per-launch pass, never from the timed pass of the case
  LevelTraffic traffic = {};           ///< by the cache model
  SimulatedCounts simulated = {};      ///< by a simulated processor, where one was asked for
  GpuCounts counts = {};               ///< on a GPU, from its counters
};

/// What only a case on a GPU has; absent values were not to be had.
struct DeviceReport {
  std::string name;                    ///< "NVIDIA H200"
  std::string level;                   ///< none, events, activity or counters: what could be seen
  std::string level_reason;            ///< why no more
  std::optional<double> kernel_time_s; ///< kernels of one run together, from activity records
  std::optional<double> launch_gap_s;  ///< of one run: the device between kernels, waiting
  std::optional<std::int64_t> kernels; ///< of one run
  std::optional<double> sm_clock_hz;   ///< median over the samples
  std::optional<double> memory_clock_hz;
  std::optional<double> temperature_c; ///< highest
  std::optional<double> power_w;       ///< highest
  std::optional<std::int64_t> throttled_samples;
  std::string throttle_reasons;
  GpuCounts counts; ///< of one run
  bool operator==(const DeviceReport&) const = default;
};

/// How a launch or a case stands to the machine's roofs; filled by reports/derive, absent where a roof is unknown.
struct RoofVerdict {
  std::optional<double> attainable_flops_per_s; ///< min over the roofs that apply to its work and bytes
  std::optional<double> roof_time_s;            ///< lower bound of the time from the same roofs
  std::optional<double> roof_fraction;          ///< roof_time_s / measured time
  /// compute, vector, transcendental, memory; overhead; unexplained: far from every roof, and no overhead accounts for
  /// it; empty: unknown.
  std::string bound;
  std::optional<double> bound_margin; ///< time bound of the deciding roof over that of the next
  std::string roof_level;             ///< L1, L2, L3, DRAM: whose bandwidth is the memory roof
  std::string roof_traffic;           ///< read, write, copy ...: the kind of traffic that reached it
  std::string implausible;            ///< why the figure cannot be right, with the likely cause; empty where it can
};

/// The record of one case: config, counted work, measurement and verdicts. Everything the reports show comes from it
/// (R6).
struct Record {
  std::string id;
  operators::Config config;
  Status status = Status::kOk;
  std::string reason; ///< a sentence; empty where status is ok
  std::vector<std::string> warnings;
  std::optional<operators::Totals> totals; ///< absent for invalid cases
  std::vector<LaunchRecord> launches;
  std::optional<Measurement> measured;
  RoofVerdict roof;                              ///< of the whole case: sum over launches
  std::vector<RoofVerdict> launch_roofs;         ///< one per launch, or empty
  std::optional<double> memory_bound_time_share; ///< of the per-launch time
  std::optional<double> attention_time_share;    ///< launches inside mixer scopes
  std::optional<double> max_relative_error;      ///< against the float64 reference, where it was checked
  std::string verified_by;                       ///< what max_relative_error compares; empty: nothing was compared
  std::string kernel_impl;                       ///< distinct implementations, most time first
  int threads = 0;
  std::string processors;     ///< "1,3,0": those that the threads were bound to; empty where they were free
  std::string counter_origin; ///< what the counter columns are, or why they are empty
  std::string energy_origin;  ///< what the energy columns are, or why they are empty
  std::string machine_fingerprint;
  std::optional<DeviceReport> device; ///< of cases that ran on a GPU
};

} // namespace attnprof::profilers
