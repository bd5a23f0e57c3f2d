// Figures that cannot be: what a row claims against what the machine was measured to do. Nothing is clipped or hidden;
// the row says so, with the likely cause.
#pragma once
#include "profilers/record.hpp"
#include "reports/derive.hpp"

#include <string_view>
#include <vector>

namespace attnprof::reports {

/// Fills `implausible` of the case and of each launch, and adds a warning for the case and one for its launches:
/// - a time below what a known ceiling allows, by more than kImplausibleFraction: above the roof;
/// - a sample or a launch of less than 20 steps of the timer: too short;
/// - more bytes read from memory in a second, or FLOPs counted by the processor, than the fastest ceiling allows;
/// - more misses of the last cache level than of the second.
/// Launches that reach up to kImplausibleFraction of their roof get a warning alone: ceilings are not known better.
/// `bounds` are those of the launches. Pure, and the same when repeated.
void judge_plausibility(profilers::Record& record, const std::vector<TimeBounds>& bounds, const Roofs& roofs);

/// Whether judge_plausibility has added this warning, so that the next derivation can replace it.
bool is_plausibility_warning(std::string_view warning);

/// The first reason why a figure of the case or of one of its launches cannot be right; empty where none is.
std::string implausible_reason(const profilers::Record& record);

} // namespace attnprof::reports
