// Measuring cases in turns, A B B A, so that a machine that gets slower or faster meanwhile treats them alike.
#pragma once

#include "cli/case_runner.hpp"
#include "cli/gate.hpp"
#include "profilers/comparison.hpp"

#include <optional>
#include <string>
#include <vector>

namespace attnprof::cli {

/// Rounds of A B ... B A. Short cases get more of them: a disturbance then falls on both sides of more pairs.
inline constexpr int kFewestRounds = 8;
inline constexpr int kMostRounds = 20;

/// What ratios are made of.
struct RoundMedians {
  std::vector<std::vector<double>> medians_s; ///< [case][round]
  /// Second visit of a round over the first, as log ratios, of all cases: like with like, the A/A self-test.
  std::vector<double> self_log_ratios;
};

/// Measures every case with a program (the others are left alone) in rounds and fills record.measured with all samples.
/// Each visit gets its share of `measuring.timing.min_time_s` and of the timeout.
RoundMedians measure_interleaved(std::vector<PreparedCase>& cases, const MeasuringRequest& measuring, Seams& seams);

/// One case against the base of its group, paired round by round.
struct TurnVerdict {
  double ratio = 0;
  profilers::Interval interval; ///< of the ratio, 95 %
  double p = 1;                 ///< of no difference, adjusted over all cases (Holm)
  double smallest_detectable = 0;
  Change change = Change::kInconclusive;
};

struct TurnComparison {
  double threshold = kDefaultThreshold;
  std::optional<double> noise_floor; ///< absent: too few rounds
  std::size_t self_tests = 0;
  std::vector<std::optional<TurnVerdict>> verdicts; ///< by case; absent for bases, and where rounds are too few
  std::vector<std::string> notes;                   ///< sentences for stderr
};

/// Verdicts as the gate's: a paired bootstrap gives the error, which is no less than the A/A self-test shows.
/// Throws Error(kUsage) for a threshold below the noise floor.
TurnComparison compare_turns(const RoundMedians& rounds, const std::vector<std::vector<std::size_t>>& groups,
                             std::optional<double> threshold);

/// Indices of the cases that are compared with each other, the first of each group being the base: cases of equal plan,
/// or all where the plan is all that differs.
std::vector<std::vector<std::size_t>> comparison_groups(const std::vector<PlannedCase>& cases);

} // namespace attnprof::cli
