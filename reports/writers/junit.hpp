#pragma once
#include "reports/result_set.hpp"

namespace attnprof::reports {

/// JUnit XML: a testcase a case; failed and incorrect are failures, skipped and unsupported are skipped with reason,
/// invalid is an error.
std::string junit_xml(const ResultSet& results);

} // namespace attnprof::reports
