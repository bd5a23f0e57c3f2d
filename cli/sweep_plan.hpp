// From axes and case ids to the list of cases. Pure: reads nothing but the registry of workloads.
#pragma once

#include "cli/axis.hpp"
#include "cli/quantity.hpp"
#include "operators/core/param.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::cli {

/// More cases than this are a mistyped axis, not a sweep.
inline constexpr std::size_t kMaxCases = 100'000;

struct PlanRequest {
  std::vector<Axis> axes;             ///< what was asked for, at most one for each parameter
  std::vector<Axis> default_axes;     ///< used where neither an axis nor an id says anything
  std::vector<operators::Config> ids; ///< single cases beside or instead of those that the axes span; axes override
  std::optional<std::string> where;   ///< condition on the parameters
  std::optional<std::string> filter;  ///< regular expression that is searched in the id
  Shard shard;
  std::optional<std::uint64_t> shuffle_seed; ///< absent: the order of the axes
};

/// One row of the sweep to come.
struct PlannedCase {
  std::string id;
  operators::Config config; ///< resolved, or as given where it was rejected
  std::string rejection;    ///< why it cannot exist, a sentence; empty where it can
};

struct SweepPlan {
  std::vector<PlannedCase> cases;
  std::size_t spanned = 0;    ///< combinations of the axes, before everything below
  std::size_t merged = 0;     ///< of which were the same case as another, since a workload ignores a parameter
  std::size_t deselected = 0; ///< of which --where and --filter left out
  std::size_t other_shards = 0;
};

/// Expands the request. Cases stand in the order of the parameters (`list` prints them), the first parameter outermost.
/// A parameter that a workload does not take is left out for that workload, and cases that are equal then are one case.
/// A combination that contradicts itself is kept with its rejection, unless no combination is valid. Throws
/// Error(kUsage) for an axis that no chosen workload takes, unknown names, no case left, all cases rejected (with the
/// first reason; kInvalid or kOverflow then) and too many cases.
SweepPlan plan_sweep(const PlanRequest& request);

/// Hands over the cases of plan_sweep one at a time, in its order, and keeps none: a plan of a hundred thousand is some
/// hundred megabytes. For requests that are neither shuffled nor sharded, which need the whole plan first. What
/// plan_sweep throws for is thrown before the first case is handed over, but for what is wrong with a single id. The
/// next case is made from the one that was handed over: what a visitor takes out of it must be put back.
void for_each_case(const PlanRequest& request, const std::function<void(PlannedCase&)>& visit);

/// The axes of a sweep of which nothing was asked: the variants and layouts whose descriptors say so, with 4 heads.
std::vector<Axis> default_sweep_axes();
/// Both plans.
Axis both_plans();

} // namespace attnprof::cli
