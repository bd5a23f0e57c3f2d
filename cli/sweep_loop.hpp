// The sweep itself: every planned case becomes one record on the disk, whatever happens to it (R3).
#pragma once

#include "cli/case_runner.hpp"
#include "cli/context.hpp"
#include "cli/run_folder.hpp"
#include "cli/sweep_plan.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::cli {

struct SweepSettings {
  std::optional<double> budget_s; ///< no case begins after this time
  /// A time that the cases share: each that is left gets an equal part of what is left, and none is skipped.
  std::optional<double> shared_s;
  bool keep_going = true;                  ///< false: after a row that failed or was incorrect, the rest is skipped
  profilers::PhaseClock* phases = nullptr; ///< is told how long records take to write, where it is not null
};

/// Measures one case that is possible so far; `share_s` is its part of a shared time.
using MeasureCase = std::function<profilers::Record(const PlannedCase&, std::optional<double> share_s)>;

/// Whether a row of an earlier sweep is final. Rows that were skipped for lack of time, for an interrupt, or after a
/// failed row are run again by --resume.
bool is_final(const profilers::Record& record);

/// Whether a row was left out because --budget was used up, which is what was asked for.
bool is_for_lack_of_time(const profilers::Record& record);

/// Runs the plan and appends a record after each case. Rows of the folder that are final are left as they are.
/// Returns one record for each planned case, in the order of the plan.
std::vector<profilers::Record> run_sweep(const SweepPlan& plan, RunFolder& folder, const SweepSettings& settings,
                                         const MeasureCase& measure, Context& context);

/// Measures a case in a process of its own (`attnprof run ID --json`), so that a crash or a hang becomes a failed row.
profilers::Record measure_isolated(const PlannedCase& planned, const std::vector<std::string>& measuring_args,
                                   double timeout_s, Seams& seams);

} // namespace attnprof::cli
