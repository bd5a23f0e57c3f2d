// What the charts of report.html draw, as JSON: everything that is derived is derived here, none of it in the page.
#pragma once
#include "reports/record_json.hpp"
#include "reports/result_set.hpp"

#include <optional>
#include <string>
#include <vector>

namespace attnprof::reports {

/// Six digits are more than any chart or table shows, and half the size. Null for what is no number.
Json page_number(double value);
Json page_number(const std::optional<double>& value);

/// How many samples the page holds; beyond, each case keeps every second, third ... of its own.
struct SampleLimits {
  std::size_t per_case = 100;
  std::size_t in_all = 40'000; ///< beyond, the cases that are not steady come first
};

/// Adds roofs, axis ranges, cases with their series, plan pairs, front, correlations, contradictions, layout families,
/// trajectories, caches, byte ladder and samples to `out`. `names`: of the records, as short_names gives them.
void add_charts(Json& out, const ResultSet& results, const std::vector<std::string>& names,
                const SampleLimits& limits = {});

} // namespace attnprof::reports
