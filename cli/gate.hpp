// Whether a set of records got slower than an earlier one, row by row. Pure.
#pragma once

#include "profilers/record.hpp"
#include "reports/record_json.hpp"

#include <optional>
#include <string>
#include <vector>

namespace attnprof::cli {

enum class Change {
  kSame,         ///< within the threshold, or a gain that the intervals do not prove
  kFaster,       ///< better by more than the threshold, and the intervals do not overlap
  kSlower,       ///< worse by more than the threshold, and the intervals do not overlap
  kInconclusive, ///< worse by more than the threshold, but the intervals overlap or are unknown
  kMissing,      ///< measured before, no row now
  kFailed,       ///< measured before, now a row that is not ok
  kNew,          ///< no row before
  kUnmeasured,   ///< no value before
};
std::string_view name_of(Change change);

struct GateOptions {
  double threshold = 0.05; ///< relative change that is tolerated
  std::string metric = "time_median_s";
  bool fail_on_regress = true;
  bool fail_on_missing = true;
  bool fail_on_fail = true;
  bool fail_on_inconclusive = false;
  bool fail_on_implausible = false; ///< a newer figure that cannot be right, whether it changed or not
};
/// Reads "regress,missing". Throws Error(kUsage) with the nearest name. `none` fails on nothing.
void parse_fail_on(std::string_view text, GateOptions& options);

struct RowChange {
  std::string id;
  Change change = Change::kSame;
  std::optional<double> before;
  std::optional<double> after;
  std::optional<double> ratio; ///< after / before; absent where either is absent or before is 0
  std::string reason;          ///< why a row failed
};

/// One entry for each id of either side: those of `before` in its order, then the new ones. Times are compared by their
/// confidence intervals, other metrics by value. Rates and fractions are better when larger, everything else when
/// smaller. Throws Error(kUsage) for a metric that is no numeric column.
std::vector<RowChange> compare_records(const std::vector<profilers::Record>& before,
                                       const std::vector<profilers::Record>& after, const GateOptions& options);

/// The exit code of the first that applies: regression 3, failed row 4, missing row 5, inconclusive 6; else 0.
int gate_exit_code(const std::vector<RowChange>& rows, const GateOptions& options);

/// {"schema_version", "metric", "threshold", "rows": [{id, change, before, after, ratio, reason}]}; absent is null.
reports::Json change_json(const std::vector<RowChange>& rows, const GateOptions& options);

/// A table of the rows and a sentence that counts them.
std::string change_table(const std::vector<RowChange>& rows, const std::vector<profilers::Record>& before,
                         const std::vector<profilers::Record>& after, const GateOptions& options);

} // namespace attnprof::cli
