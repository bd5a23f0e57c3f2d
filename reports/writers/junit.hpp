#pragma once
#include "reports/result_set.hpp"

namespace attnprof::reports {

/// JUnit XML: a testcase a case. failed and incorrect are failures; skipped, unsupported and invalid are skipped, as
/// they are for the exit code. The time is that of one run of the case.
std::string junit_xml(const ResultSet& results);

} // namespace attnprof::reports
