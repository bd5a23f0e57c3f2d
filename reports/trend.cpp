#include "reports/trend.hpp"

#include "operators/core/error.hpp"
#include "reports/schema.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace attnprof::reports {
namespace {

std::optional<double> number(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    return static_cast<double>(*whole);
  }
  const auto* real = std::get_if<double>(&cell);
  return real == nullptr ? std::nullopt : std::optional(*real);
}

void judge(Trend& trend, const profilers::TrendOptions& options) {
  std::vector<double> earlier;
  for (const TrendPoint& point : trend.points) {
    earlier.push_back(point.value);
  }
  const double latest = earlier.back();
  earlier.pop_back();
  trend.limits = profilers::trend_limits(earlier, options);
  const bool larger_is_better = trend.metric.ends_with("_per_s") || trend.metric.ends_with("_fraction");
  trend.verdict = profilers::trend_verdict(latest, trend.limits, larger_is_better);
}

} // namespace

std::vector<Trend> trends_of(const std::vector<PastRun>& runs, const std::string& metric,
                             const profilers::TrendOptions& options) {
  const CaseColumn& column = case_column(metric);
  if (column.spec.type != Type::kInteger && column.spec.type != Type::kReal) {
    throw operators::Error(operators::ErrorKind::kUsage,
                           fmt::format("--metric {} is no number; a trend needs a numeric column", metric));
  }
  std::vector<Trend> out;
  for (const PastRun& run : runs) {
    for (const profilers::Record& record : run.records) {
      const std::optional<double> value =
          record.status == profilers::Status::kOk ? number(column.get(record)) : std::nullopt;
      if (!value) {
        continue;
      }
      auto found = std::find_if(out.begin(), out.end(), [&](const Trend& trend) {
        return trend.id == record.id && trend.machine == run.machine;
      });
      if (found == out.end()) {
        Trend trend;
        trend.id = record.id;
        trend.machine = run.machine;
        trend.processor = run.processor;
        trend.metric = metric;
        trend.unit = column.spec.unit;
        found = out.insert(out.end(), std::move(trend));
      }
      found->points.push_back({run.number, run.added_on, run.commit, run.label, *value});
      found->latest = record;
    }
  }
  for (Trend& trend : out) {
    judge(trend, options);
  }
  return out;
}

Json trends_json(const std::vector<Trend>& trends) {
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  Json out = Json::array();
  for (const Trend& trend : trends) {
    Json points = Json::array();
    for (const TrendPoint& point : trend.points) {
      points.push_back({{"run", point.run},
                        {"added_on", point.added_on},
                        {"commit", text(point.commit)},
                        {"label", text(point.label)},
                        {"value", point.value}});
    }
    const auto& limits = trend.limits;
    out.push_back({{"id", trend.id},
                   {"machine", text(trend.machine)},
                   {"processor", text(trend.processor)},
                   {"metric", trend.metric},
                   {"unit", trend.unit},
                   {"points", std::move(points)},
                   {"center", limits ? Json(limits->center) : Json()},
                   {"low", limits ? Json(limits->low) : Json()},
                   {"high", limits ? Json(limits->high) : Json()},
                   {"verdict", name_of(trend.verdict)}});
  }
  return out;
}

std::string sparkline(const std::vector<double>& values) {
  if (values.empty()) {
    return {};
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  std::string out;
  for (const double value : values) {
    constexpr double kBars = 7;
    const double share = *high > *low ? (value - *low) / (*high - *low) : 0.0;
    const auto bar = static_cast<unsigned char>(0x81 + static_cast<int>(std::lround(share * kBars)));
    out += "\xE2\x96";
    out += static_cast<char>(bar);
  }
  return out;
}

} // namespace attnprof::reports
