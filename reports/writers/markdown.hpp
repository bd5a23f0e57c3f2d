#pragma once
#include "reports/result_set.hpp"

namespace attnprof::reports {

/// summary.md: host, verdict, cases with what varies among them, slowest kernels, cases that did not run with reasons.
std::string summary_markdown(const ResultSet& results);

} // namespace attnprof::reports
