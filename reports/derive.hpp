// The roofline derivation: how long a launch must take at least on this machine, what decides that, and how near the
// measured time comes. Pure: cost and ceilings in, verdicts out.
#pragma once
#include "profilers/record.hpp"
#include "reports/roofs.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attnprof::reports {

/// Below this margin a bound is ambiguous: the ceilings themselves are not known better.
inline constexpr double kAmbiguousMargin = 1.2;
/// Above this fraction of the roof a row is flagged: either the ceiling or the assumed memory level is wrong.
inline constexpr double kImplausibleFraction = 1.05;
/// Below this fraction of its roof nothing shows that the roof bounds a row: it is unexplained.
inline constexpr double kUnexplainedFraction = 0.1;
/// Overhead is claimed where the measured overhead of the launches is at least this share of what exceeds the roof, is
/// more than the roof, and the row takes more than twice its roof.
inline constexpr double kOverheadShare = 0.5;
/// A case whose launches, timed one by one, add up to a time that is further than this from its own gets a warning.
inline constexpr double kLaunchSumTolerance = 0.2;

/// What decides in which memory level a launch finds its operands. Activations were written just before, so that they
/// lie where the launch's own working set fits. Weights and keys and values of past tokens were last used a whole run
/// ago: everything that the case touches has passed through the caches since, or they were evicted on purpose.
struct Residence {
  std::int64_t footprint_bytes = 0; ///< weights, KV cache and the most activations that are alive at once
  bool weights_are_cold = false;    ///< by the cache policy
  bool cache_is_cold = false;
};
Residence residence_of(const profilers::Record& record);

/// Least time that each resource needs for one launch, in seconds; absent where the launch does not use the resource or
/// its ceiling is unknown. The resources may overlap perfectly, so the launch needs at least the largest of them.
struct TimeBounds {
  std::optional<double> matrix_s;         ///< matmul FLOPs / peak of the multiply-add unit at this dtype
  std::optional<double> vector_s;         ///< other FLOPs except transcendentals / peak of the vector unit
  std::optional<double> transcendental_s; ///< transcendentals / rate of exp
  /// Largest over the levels that hold operands: bytes that come from there or from beyond / bandwidth of the level at
  /// this mix of reads and writes.
  std::optional<double> memory_s;
  std::string level;                ///< the deciding level; empty where no byte moves or no bandwidth is known
  std::string traffic;              ///< kind of traffic that reached its bandwidth; empty: any
  std::optional<double> overhead_s; ///< what an empty launch takes; no part of the roof
  bool complete = true;             ///< false: a resource that the launch uses has no ceiling
};
/// The four times with the name of the bound that each stands for.
struct NamedBound {
  std::string_view name;
  std::optional<double> time_s;
};
std::array<NamedBound, 4> by_kind(const TimeBounds& bounds);
/// The ceiling of a unit: compute, vector or transcendental; where it is unknown, that of the next faster unit; null
/// where none is known.
const UnitRoof* roof_of_unit(std::string_view unit, const Roofs& roofs);
TimeBounds time_bounds(const operators::LaunchCost& cost, const Roofs& roofs, const Residence& residence = {});

/// Verdict on one launch. `time_s` is absent where nothing was measured; a time that is not positive counts as absent.
/// Everything that needs an unknown ceiling stays absent.
profilers::RoofVerdict roof_verdict(const TimeBounds& bounds, operators::Count flops, std::optional<double> time_s);

/// Whether the deciding bound leads the next one by less than kAmbiguousMargin.
bool is_ambiguous(const profilers::RoofVerdict& verdict);

/// Fills roof, launch_roofs, memory_bound_time_share and attention_time_share of a record, and replaces the warnings of
/// an earlier derivation. Calling it again changes nothing. Records without totals are left alone.
/// Case: roof_time_s is the sum over launches; bound is the kind of bound with the largest share of the launches' time
/// (measured where every launch was, else roof time), bound_margin that share over the next one's. A case that is far
/// from its own roof is bound by overhead or unexplained, whatever its launches are.
void derive(profilers::Record& record, const Roofs& roofs);
void derive(profilers::Record& record, const profilers::Machine& machine);

/// The same without a measurement, for `cost`: roof_time_s is then the predicted time of each launch and of the case.
/// Any measurement in the record is ignored.
void predict(profilers::Record& record, const profilers::Machine& machine);
void predict(profilers::Record& record, const Roofs& roofs);

/// Whether this launch belongs to the attention mixer: a scope with a part "mixer", or any scope of layout op.
bool is_attention(const profilers::Record& record, std::string_view scope);

/// Share of the launches' time by kind of bound (RoofVerdict::bound), largest first.
/// Time is measured where every launch was, else roof time. Empty where neither is known.
struct BoundShare {
  std::string bound;
  double share = 0;
};
std::vector<BoundShare> bound_shares(const profilers::Record& record);

} // namespace attnprof::reports
