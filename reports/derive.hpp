// The roofline derivation: how long a launch must take at least on this machine, what decides that, and how near the
// measured time comes. Pure: cost and ceilings in, verdicts out.
#pragma once
#include "profilers/record.hpp"
#include "reports/roofs.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace attnprof::reports {

/// Below this margin a bound is ambiguous: the ceilings themselves are not known better.
inline constexpr double kAmbiguousMargin = 1.2;
/// Above this fraction of the roof a row is flagged: either the ceiling or the assumed memory level is wrong.
inline constexpr double kImplausibleFraction = 1.05;
/// A launch is bound by overhead when it takes more than kOverheadMultiple times its roof and less than kOverheadTimeS.
inline constexpr double kOverheadMultiple = 4.0;
inline constexpr double kOverheadTimeS = 10e-6;

/// Least time that each resource needs for one launch, in seconds; absent where the launch does not use the resource or
/// its ceiling is unknown. The resources may overlap perfectly, so the launch needs at least the largest of them.
struct TimeBounds {
  std::optional<double> matrix_s;         ///< matmul FLOPs / peak of the multiply-add unit at this dtype
  std::optional<double> vector_s;         ///< other FLOPs except transcendentals / peak of the vector unit
  std::optional<double> transcendental_s; ///< transcendentals / rate of exp
  std::optional<double> memory_s;         ///< bytes / bandwidth of the level that holds the working set
  std::string level;                      ///< that level; empty where no byte moves or no bandwidth is known
  bool complete = true;                   ///< false: a resource that the launch uses has no ceiling
};
TimeBounds time_bounds(const operators::LaunchCost& cost, const Roofs& roofs);

/// Verdict on one launch. `time_s` is absent where nothing was measured; a time that is not positive counts as absent.
/// Everything that needs an unknown ceiling stays absent.
profilers::RoofVerdict roof_verdict(const TimeBounds& bounds, operators::Count flops, std::optional<double> time_s);

/// Whether the deciding bound leads the next one by less than kAmbiguousMargin.
bool is_ambiguous(const profilers::RoofVerdict& verdict);

/// Fills roof, launch_roofs, memory_bound_time_share and attention_time_share of a record, and replaces the warnings of
/// an earlier derivation. Calling it again changes nothing. Records without totals are left alone.
/// Case: roof_time_s is the sum over launches; bound is the kind of bound with the largest share of the launches' time
/// (measured where every launch was, else roof time), bound_margin that share over the next one's.
void derive(profilers::Record& record, const Roofs& roofs);
void derive(profilers::Record& record, const profilers::Machine& machine);

/// The same without a measurement, for `cost`: roof_time_s is then the predicted time of each launch and of the case.
/// Any measurement in the record is ignored.
void predict(profilers::Record& record, const profilers::Machine& machine);

/// Whether this launch belongs to the attention mixer: a scope with a part "mixer", or any scope of layout op.
bool is_attention(const profilers::Record& record, std::string_view scope);

/// Share of the launches' time by kind of bound (compute, vector, transcendental, memory, overhead), largest first.
/// Time is measured where every launch was, else roof time. Empty where neither is known.
struct BoundShare {
  std::string bound;
  double share = 0;
};
std::vector<BoundShare> bound_shares(const profilers::Record& record);

} // namespace attnprof::reports
