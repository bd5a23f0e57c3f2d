#pragma once
#include "reports/result_set.hpp"

namespace attnprof::reports {

/// report.html: one file without any external resource: roofline, throughput over FLOPs, time per kernel, tables.
std::string report_html(const ResultSet& results);

} // namespace attnprof::reports
