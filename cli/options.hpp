// The groups of flags that several commands share, and what their values mean.
#pragma once

#include "cli/command.hpp"
#include "cli/gate.hpp"
#include "cli/sweep_plan.hpp"
#include "operators/exec/twin.hpp"
#include "operators/exec/verify.hpp"
#include "profilers/cache_control.hpp"
#include "profilers/session.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::cli {

/// One flag for each parameter of the workloads (R1: made from operators::all_params(), never typed again).
std::vector<OptionSpec> workload_options();
/// --where, --filter, --config.
std::vector<OptionSpec> selection_options();
/// --warmup, --repetitions, --min-time, --max-noise, --timeout, --cache, --counters, --seed.
std::vector<OptionSpec> measuring_options();
/// --threshold, --fail-on, --metric.
std::vector<OptionSpec> gate_options();
/// The groups one after another.
std::vector<OptionSpec> joined(std::initializer_list<std::vector<OptionSpec>> groups);

/// Axes of the workload flags that were given.
std::vector<Axis> axes_from(const Arguments& arguments);
/// Axes, case ids, selection, shard and order. Throws Error(kUsage).
PlanRequest plan_request(const Arguments& arguments);
/// Whether --model, --layout, --variant or a case id says what to run.
bool chooses_workload(const PlanRequest& request);

/// Whether counters of the processor and the kernel are read in a pass of their own.
enum class CounterUse {
  kAuto,     ///< where they work
  kValgrind, ///< none; instructions and misses come from a simulated processor
  kOff,      ///< never; nothing is opened (BUG-131)
  kRequired, ///< without the processor's, nothing is measured at all (BUG-121)
  kHere,     ///< as auto, and those of a GPU in this process: what the worker process of auto is started with
};
std::string_view name_of(CounterUse use);

/// How each case is measured.
struct MeasuringRequest {
  profilers::MeasureOptions timing;
  profilers::CachePolicy cache_policy = profilers::CachePolicy::kWarm;
  CounterUse counters = CounterUse::kAuto;
  std::uint64_t seed = 1;
  /// Larger cases are checked by a twin of smaller sizes. The reference keeps every tensor as doubles, beside the
  /// program's own copy.
  operators::CheckLimits check_limits{operators::kReferenceMacLimit, 1'000'000'000};
};
/// Throws Error(kUsage).
MeasuringRequest measuring_request(const Arguments& arguments);

/// --threshold, --fail-on, --metric, --gate, --across-machines. Without --gate, counts are compared where the metrics
/// are counts, or where nothing is said about times and `shared_runner` names a machine whose times mean little; a
/// threshold asks for times. Throws Error(kUsage).
GateOptions gate_request(const Arguments& arguments, const std::optional<std::string>& shared_runner);

} // namespace attnprof::cli
