// Measuring cases in turns, A B B A, so that a machine that gets slower or faster meanwhile treats them alike.
#pragma once

#include "cli/case_runner.hpp"
#include "profilers/statistics.hpp"

#include <optional>
#include <string>
#include <vector>

namespace attnprof::cli {

/// Rounds of A B ... B A; medians of ratios need at least 5 for an interval.
inline constexpr int kInterleavedRounds = 8;

/// Medians of each round, by case: what ratios are made of.
struct RoundMedians {
  std::vector<std::vector<double>> medians_s; ///< [case][round]
};

/// Measures every case with a program (the others are left alone) in rounds and fills record.measured with all samples.
/// Each visit gets its share of `measuring.timing.min_time_s` and of the timeout.
RoundMedians measure_interleaved(std::vector<PreparedCase>& cases, const MeasuringRequest& measuring, Seams& seams);

/// Ratio of one case to another, paired round by round. Absent interval: too few rounds.
struct PairedRatio {
  double ratio = 0;
  std::optional<profilers::Interval> interval;
};
/// Absent without a common round.
std::optional<PairedRatio> paired_ratio(const std::vector<double>& base_s, const std::vector<double>& other_s);

/// "slower", "faster" or "no difference shown".
std::string_view verdict_of(const PairedRatio& ratio);

/// Indices of the cases that are compared with each other, the first of each group being the base: cases of equal plan,
/// or all where the plan is all that differs.
std::vector<std::vector<std::size_t>> comparison_groups(const std::vector<PlannedCase>& cases);

} // namespace attnprof::cli
