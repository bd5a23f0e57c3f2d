#pragma once
#include "reports/record_json.hpp"
#include "reports/result_set.hpp"

namespace attnprof::reports {

/// report.html: one file without any external resource: roofline, throughput over FLOPs, layouts, phases, bytes,
/// stability, and where `history` holds trends (as `history show --json` prints them) how figures went over the runs.
std::string report_html(const ResultSet& results, const Json& history = nullptr);

} // namespace attnprof::reports
