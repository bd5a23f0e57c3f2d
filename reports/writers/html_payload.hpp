#pragma once
#include "reports/record_json.hpp"
#include "reports/result_set.hpp"

#include <string>

namespace attnprof::reports {

/// How much of a result set the page holds, so that it stays small (BUG-185). Samples are never in it.
struct PayloadLimits {
  /// Beyond so many cases only the main columns are in the page.
  std::size_t all_columns_cases = 2000;
  /// Groups of launches over all cases, half as many where only the main columns are; beyond, only the cases with most
  /// time keep theirs.
  std::size_t kernel_rows = 12000;
};

/// The numbers behind report.html, and a sentence on what was left out; empty where nothing was.
struct Payload {
  Json json;
  std::string trimmed;
};
/// `history`: trends as `history show --json` prints them, or null.
Payload html_payload(const ResultSet& results, const PayloadLimits& limits = {}, const Json& history = nullptr);

/// JSON text that may stand inside a script element: '<' and '>' are escaped, so no text can end it (BUG-183).
std::string script_safe_json(const Json& json);

} // namespace attnprof::reports
