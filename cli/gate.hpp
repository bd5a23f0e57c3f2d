// Whether a set of records got slower than an earlier one, or counts anything else, row by row. Pure.
#pragma once

#include "profilers/comparison.hpp"
#include "profilers/record.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::cli {

enum class Change {
  kSame,         ///< shown to be equivalent: within the threshold either way; or equal counts
  kFaster,       ///< better by more than the threshold, and not by chance
  kSlower,       ///< worse by more than the threshold, and not by chance
  kInconclusive, ///< neither a difference nor equivalence is shown
  kChanged,      ///< a count that must be equal is not
  kMissing,      ///< a result before, no row now
  kFailed,       ///< a result before, now a row that is not ok
  kNew,          ///< no row before
  kUnmeasured,   ///< no result before
};
std::string_view name_of(Change change);

enum class GateKind {
  kTimes,  ///< one metric, with its noise
  kCounts, ///< what is counted must be equal: the same on every machine, busy or not
};
std::string_view name_of(GateKind kind);

struct GateOptions {
  GateKind kind = GateKind::kTimes;
  std::optional<double> threshold;  ///< relative change that is tolerated; absent: 5 %, or the noise floor above it
  std::vector<std::string> metrics; ///< empty: time_median_s, across machines roof_fraction; counts: default_counts()
  bool across_machines = false;     ///< only figures that are relative to a machine's own roofs
  bool fail_on_regress = true;
  bool fail_on_missing = true;
  bool fail_on_fail = true;
  bool fail_on_inconclusive = false;
  bool fail_on_implausible = false; ///< a newer figure that cannot be right, whether it changed or not
};
inline constexpr double kDefaultThreshold = 0.05;
/// Chance of even one false alarm among all rows (Holm).
inline constexpr double kFalseAlarm = 0.05;

/// FLOPs, bytes, intensity, parameters, memory and launches.
const std::vector<std::string>& default_counts();
/// What is compared, defaults filled in.
std::vector<std::string> metrics_of(const GateOptions& options);
/// Whether the column follows from the workload alone. Throws Error(kUsage) for a column that does not exist.
bool is_count(const std::string& metric);

/// Reads "regress,missing". Throws Error(kUsage) with the nearest name. `none` fails on nothing.
void parse_fail_on(std::string_view text, GateOptions& options);
/// Throws Error(kUsage) for metrics that are no numeric columns, several for times, or some that do not fit the gate.
void check(const GateOptions& options);

struct RowChange {
  std::string id;
  Change change = Change::kSame;
  std::optional<double> before;
  std::optional<double> after;
  std::optional<double> ratio;                 ///< after / before; absent where either is absent or before is 0
  std::optional<profilers::Interval> interval; ///< of the ratio, 95 %; absent for counts
  std::optional<double> smallest_detectable;   ///< relative change that would be found with 80 % power
  std::optional<double> p;                     ///< of no difference, adjusted over the rows (Holm)
  std::string reason;                          ///< why a row failed, changed or is undecided
};

struct Comparison {
  std::vector<RowChange> rows; ///< one for each id of either side: those of `before` in its order, then the new ones
  GateKind kind = GateKind::kTimes;
  std::vector<std::string> metrics;
  double threshold = 0;              ///< that was used; 0 for counts
  std::optional<double> noise_floor; ///< least threshold, from the A/A self-test; absent: too few samples for one
  std::size_t self_tests = 0;        ///< comparisons of like with like that it is made of
  std::vector<std::string> notes;    ///< sentences for stderr
};

/// Verdict on times whose log ratio is `worse` (positive: longer) after correction of its p over all rows.
Change verdict_of(const profilers::Effect& worse, double adjusted_p, double threshold);

/// Whether a threshold can be told from noise: the larger of the default and the floor with a note where none was asked
/// for. Throws Error(kUsage) where the one asked for lies below the floor.
double usable_threshold(std::optional<double> asked, double noise_floor, std::size_t self_tests,
                        std::vector<std::string>& notes);

/// Times: log ratio of medians, its error from a block bootstrap of the samples kept, but no less than the A/A
/// self-test shows; SLOWER and FASTER need a change beyond the threshold and a difference at 5 % after Holm's
/// correction, SAME needs equivalence (two one-sided tests at 5 %). The self-test holds the halves of each run against
/// each other, or `before` against `repeated`, a second run of the same build. Other measured columns are compared by
/// value. Rates and fractions are better when larger, everything else when smaller.
/// Throws Error(kUsage) as check() does, and for a threshold below the noise floor.
Comparison compare_records(const std::vector<profilers::Record>& before, const std::vector<profilers::Record>& after,
                           const GateOptions& options, const std::vector<profilers::Record>& repeated = {});

/// The exit code of the first that applies: regression 3, failed row 4, missing row 5, inconclusive 6; else 0.
int gate_exit_code(const Comparison& comparison, const GateOptions& options);
/// Whether a row of this kind makes the gate fail.
bool fails(Change change, const GateOptions& options);

} // namespace attnprof::cli
