// A gate's comparison for people and for CI: table, JSON, JUnit, Markdown for a pull request, annotations. Pure.
#pragma once

#include "cli/gate.hpp"
#include "reports/record_json.hpp"

#include <string>
#include <vector>

namespace attnprof::cli {

/// What the views name: the two sides, and the records that tell the cases apart.
struct ComparedRuns {
  std::string before_path;
  std::string after_path;
  const std::vector<profilers::Record>& before;
  const std::vector<profilers::Record>& after;
};

/// One line for each row, then how many of each verdict.
std::string change_table(const Comparison& comparison, const ComparedRuns& runs);

/// "12 matched rows by time_median_s, threshold 5.0 %: 10 SAME, 1 SLOWER; 1 only in before (MISSING)"
std::string change_sentence(const Comparison& comparison);

/// {"schema_version", "gate", "metrics", "threshold", "noise_floor", "self_tests", "correction", "rows": [{id, verdict,
/// before, after, ratio, interval, smallest_detectable, p, reason}]}; absent is null.
reports::Json change_json(const Comparison& comparison);

/// A test case for each row; what makes the gate fail is a failure, undecided rows are skipped.
std::string change_junit(const Comparison& comparison, const GateOptions& options);

/// For a pull request: verdict, the rows that are not SAME by the parameters that vary, the others folded away, and
/// links to artefacts, each as "NAME=URL".
std::string change_markdown(const Comparison& comparison, const ComparedRuns& runs, const GateOptions& options,
                            const std::vector<std::string>& links);

/// "::error file=PATH,title=...::sentence" lines for what makes the gate fail, ::warning for undecided rows, ::notice
/// for new ones (workflow commands of GitHub, which others read as well).
std::string change_annotations(const Comparison& comparison, const ComparedRuns& runs, const GateOptions& options);

} // namespace attnprof::cli
