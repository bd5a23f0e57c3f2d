// One metric of one case over many runs of one machine.
#pragma once
#include "profilers/record.hpp"
#include "profilers/trend.hpp"
#include "reports/record_json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::reports {

/// A finished run as the history keeps it.
struct PastRun {
  std::int64_t number = 0; ///< 1, 2, ... in the order in which they were added
  std::string added_on;    ///< "2026-03-01T12:00:00Z"
  std::string commit;      ///< empty: unknown
  std::string label;       ///< empty: none
  std::string machine;     ///< fingerprint; empty: unknown
  std::string processor;   ///< empty: unknown
  std::vector<profilers::Record> records;
};

struct TrendPoint {
  std::int64_t run = 0;
  std::string added_on;
  std::string commit;
  std::string label;
  double value = 0;
};

struct Trend {
  std::string id; ///< of the case
  std::string machine;
  std::string processor;
  std::string metric;
  std::string unit;
  std::vector<TrendPoint> points;               ///< oldest first; runs without a value are left out
  std::optional<profilers::TrendLimits> limits; ///< from all points but the last
  profilers::TrendVerdict verdict = profilers::TrendVerdict::kTooFew; ///< on the last point
  profilers::Record latest;                                           ///< of the last point
};

/// One trend a case and machine, in the order in which they first appear. Throws operators::Error(kUsage) for a metric
/// that is no numeric column.
std::vector<Trend> trends_of(const std::vector<PastRun>& runs, const std::string& metric,
                             const profilers::TrendOptions& options = {});

/// [{id, machine, processor, metric, unit, points: [{run, added_on, commit, label, value}], center, low, high,
/// verdict}]; absent is null.
Json trends_json(const std::vector<Trend>& trends);

/// A line of bars, lowest to highest value: U+2581 to U+2588. Empty for no values.
std::string sparkline(const std::vector<double>& values);

} // namespace attnprof::reports
