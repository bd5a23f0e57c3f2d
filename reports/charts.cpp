#include "reports/charts.hpp"

#include "operators/core/product_math.hpp"
#include "reports/columns.hpp"
#include "reports/derive.hpp"
#include "reports/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace attnprof::reports {
namespace {

using profilers::Record;

/// Grows a range of positive numbers.
void include(Range& range, double value) {
  if (!(value > 0.0) || !std::isfinite(value)) {
    return;
  }
  range.low = range.low > 0.0 ? std::min(range.low, value) : value;
  range.high = std::max(range.high, value);
}

void pad(Range& range, double factor) {
  range.low /= factor;
  range.high *= factor;
}

/// Why a case cannot be drawn over its FLOPs; empty where it can.
std::string obstacle(const Record& record) {
  if (record.status != profilers::Status::kOk) {
    return fmt::format("{}: {}", name_of(record.status), record.reason);
  }
  if (!record.totals || !record.measured || !record.measured->time_median_s) {
    return "not measured";
  }
  if (!(*record.measured->time_median_s > 0.0)) {
    return "the time is 0";
  }
  return record.totals->work.flops() > 0 ? "" : "0 FLOPs";
}

std::vector<RoofSet> roof_sets(const ResultSet& results) {
  if (!results.machine) {
    return {};
  }
  std::vector<RoofSet> out;
  for (const Record& record : results.records) {
    if (record.status != profilers::Status::kOk) {
      continue;
    }
    const std::string device = operators::to_string(record.config.get("device"));
    const std::string dtype = operators::product_dtype_of(record.config);
    const int threads = roof_threads(*results.machine, record);
    auto at = std::find_if(out.begin(), out.end(), [&](const RoofSet& set) {
      return set.device == device && set.dtype == dtype && set.threads == threads;
    });
    if (at == out.end()) {
      out.push_back({device, dtype, threads, 0, 0.0, 0.0, roofs_for(*results.machine, record)});
      at = std::prev(out.end());
    }
    ++at->cases;
    if (record.totals) {
      at->bytes_read += static_cast<double>(record.totals->bytes_read.value());
      at->bytes_written += static_cast<double>(record.totals->bytes_written.value());
    }
  }
  for (RoofSet& set : out) {
    set.roofs = at_mix(std::move(set.roofs), set.bytes_read, set.bytes_written);
  }
  // A device whose ceilings nobody knows has nothing to draw.
  std::erase_if(out, [](const RoofSet& set) { return !set.roofs.matrix && set.roofs.memory.empty(); });
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.cases > b.cases; });
  return out;
}

/// Ridges: where each bandwidth meets the highest peak.
void include_roofs(RooflineChart& chart) {
  for (const RoofSet& set : chart.roofs) {
    for (const auto* peak : {&set.roofs.matrix, &set.roofs.vector}) {
      if (!*peak) {
        continue;
      }
      include(chart.y, (*peak)->per_s);
      for (const MemoryRoof& level : set.roofs.memory) {
        include(chart.x, (*peak)->per_s / level.bytes_per_s);
      }
    }
  }
}

std::vector<Front> fronts_of(const ResultSet& results, const std::vector<ChartPoint>& points) {
  std::map<std::string, std::vector<std::size_t>> of_item;
  for (std::size_t i = 0; i < points.size(); ++i) {
    of_item[items_of(results.records[points[i].record]).item].push_back(i);
  }
  std::vector<Front> out;
  for (const auto& [item, places] : of_item) {
    std::vector<std::pair<double, double>> coordinates;
    for (const std::size_t place : places) {
      coordinates.emplace_back(points[place].x, points[place].y);
    }
    Front front{item, {}};
    for (const std::size_t at : pareto_front(coordinates)) {
      front.points.push_back(places[at]);
    }
    out.push_back(std::move(front));
  }
  return out;
}

} // namespace

std::string series_name(const Record& record) {
  for (const char* name : {"model", "variant", "layout"}) {
    const std::string value = operators::to_string(record.config.get(name));
    if (!value.empty()) {
      return value;
    }
  }
  return "case";
}

std::string name_of(const RoofSet& set) {
  const std::string dtype = set.dtype.empty() ? "f32" : set.dtype;
  if (!set.device.empty() && set.device != "cpu") {
    return fmt::format("{} {}", set.device, dtype);
  }
  return fmt::format("{}, {} {}", dtype, set.threads, set.threads == 1 ? "thread" : "threads");
}

RooflineChart roofline_chart(const ResultSet& results) {
  RooflineChart chart;
  for (std::size_t i = 0; i < results.records.size(); ++i) {
    const Record& record = results.records[i];
    std::string reason = obstacle(record);
    if (reason.empty() && record.totals->bytes_read + record.totals->bytes_written <= 0) {
      reason = "0 bytes";
    }
    if (!reason.empty()) {
      chart.not_drawn.push_back({i, std::move(reason)});
      continue;
    }
    const auto flops = static_cast<double>(record.totals->work.flops().value());
    const auto bytes = static_cast<double>((record.totals->bytes_read + record.totals->bytes_written).value());
    chart.points.push_back({i, flops / bytes, flops / *record.measured->time_median_s});
    include(chart.x, chart.points.back().x);
    include(chart.y, chart.points.back().y);
  }
  chart.roofs = roof_sets(results);
  include_roofs(chart);
  pad(chart.x, 4.0);
  pad(chart.y, 3.0);
  return chart;
}

ThroughputChart throughput_chart(const ResultSet& results) {
  ThroughputChart chart;
  for (std::size_t i = 0; i < results.records.size(); ++i) {
    const Record& record = results.records[i];
    const Items items = items_of(record);
    std::string reason = obstacle(record);
    if (reason.empty() && !(items.count.value_or(0.0) > 0.0)) {
      reason = "the number of items is unknown";
    }
    if (!reason.empty()) {
      chart.not_drawn.push_back({i, std::move(reason)});
      continue;
    }
    const auto flops = static_cast<double>(record.totals->work.flops().value());
    chart.points.push_back({i, flops / *items.count, *items.count / *record.measured->time_median_s});
    chart.item = chart.item.empty() || chart.item == items.item ? items.item : "item";
    include(chart.x, chart.points.back().x);
    include(chart.y, chart.points.back().y);
  }
  chart.fronts = fronts_of(results, chart.points);
  pad(chart.x, 2.0);
  pad(chart.y, 2.0);
  return chart;
}

} // namespace attnprof::reports
