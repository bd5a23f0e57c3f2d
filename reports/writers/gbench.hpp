// The format of Google Benchmark, so that dashboards which read it read these runs too.
#pragma once
#include "reports/result_set.hpp"

#include <string>

namespace attnprof::reports {

/// {"context", "benchmarks"} with an entry a case: name, real_time (the median), time_unit, iterations, threads,
/// items_per_second, bytes_per_second and every counted total. A case without a result has error_occurred and
/// error_message. cpu_time repeats real_time, since readers demand the key and only wall time is measured; the label
/// says so. Format: github.com/google/benchmark, docs/user_guide.md and json_reporter.cc.
std::string gbench_json(const ResultSet& results);

} // namespace attnprof::reports
