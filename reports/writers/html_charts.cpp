#include "reports/writers/html_charts.hpp"

#include "reports/charts.hpp"
#include "reports/columns.hpp"
#include "reports/families.hpp"
#include "reports/findings.hpp"
#include "reports/ranking.hpp"
#include "reports/verdict.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <set>

namespace attnprof::reports {

using profilers::Record;

Json page_number(double value) {
  if (!std::isfinite(value)) {
    return nullptr;
  }
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.begin(), text.end(), value, std::chars_format::general, 6).ptr;
  double out = 0.0;
  std::from_chars(text.begin(), end, out);
  // Whole numbers print without ".0".
  return out == std::floor(out) && std::abs(out) < 1e15 ? Json(static_cast<std::int64_t>(out)) : Json(out);
}

Json page_number(const std::optional<double>& value) {
  return value ? page_number(*value) : Json(nullptr);
}

namespace {

void add_unit(Json& units, const char* bound, const std::optional<UnitRoof>& roof) {
  if (roof) {
    units.push_back({{"bound", bound},
                     {"label", roof->label},
                     {"per_s", page_number(roof->per_s)},
                     {"low", page_number(roof->low)},
                     {"high", page_number(roof->high)},
                     {"origin", roof->origin}});
  }
}

Json roofs_json(const RoofSet& set) {
  Json out = {{"name", name_of(set)}, {"units", Json::array()}, {"levels", Json::array()}};
  add_unit(out["units"], "compute", set.roofs.matrix);
  add_unit(out["units"], "vector", set.roofs.vector);
  // Exponentials a second are no FLOP/s: they stand in the table of ceilings, not on this axis.
  out["exponentials"] = Json::array();
  add_unit(out["exponentials"], "transcendental", set.roofs.transcendental);
  for (const MemoryRoof& level : set.roofs.memory) {
    Json kinds = Json::array();
    for (const TrafficRoof& kind : level.kinds) {
      kinds.push_back(
          {kind.traffic, page_number(kind.bytes_per_s), page_number(kind.low), page_number(kind.high), kind.origin});
    }
    out["levels"].push_back({{"level", level.level},
                             {"traffic", level.traffic},
                             {"bytes_per_s", page_number(level.bytes_per_s)},
                             {"low", page_number(level.low)},
                             {"high", page_number(level.high)},
                             {"capacity_bytes", level.capacity_bytes ? Json(*level.capacity_bytes) : Json(nullptr)},
                             {"origin", level.origin},
                             {"kinds", std::move(kinds)}});
  }
  return out;
}

Json range_json(const Range& range) {
  return Json::array({page_number(range.low), page_number(range.high)});
}

Json fronts_json(const ThroughputChart& chart) {
  Json out = Json::array();
  for (const Front& front : chart.fronts) {
    Json cases = Json::array();
    for (const std::size_t point : front.points) {
      cases.push_back(chart.points[point].record);
    }
    out.push_back({{"item", front.item}, {"cases", std::move(cases)}});
  }
  return out;
}

Json ranking_json(const std::vector<Record>& records) {
  const FlopsAgainstTime found = flops_against_time(records);
  Json out = {{"unsteady", found.unsteady},
              {"pairs", found.pairs},
              {"agreeing", found.agreeing},
              {"contradictions", Json::array()},
              {"correlations", Json::array()}};
  for (const auto& [light, heavy] : found.contradictions) {
    const Contradiction one = explain(records, light, heavy);
    out["contradictions"].push_back({{"light", light},
                                     {"heavy", heavy},
                                     {"flops_ratio", page_number(one.flops_ratio)},
                                     {"time_ratio", page_number(one.time_ratio)},
                                     {"bytes_ratio", page_number(one.bytes_ratio)},
                                     {"launches_ratio", page_number(one.launches_ratio)},
                                     {"product_rate_ratio", page_number(one.product_rate_ratio)},
                                     {"why", one.why}});
  }
  for (const ItemCorrelation& one : work_time_correlations(records)) {
    out["correlations"].push_back({{"item", one.item}, {"cases", one.cases}, {"value", page_number(one.value)}});
  }
  return out;
}

Json families_json(const std::vector<Record>& records) {
  Json out = Json::array();
  for (const LayoutFamily& family : layout_families(records)) {
    out.push_back({{"name", family.name}, {"cases", family.records}, {"layouts", family.layouts}});
  }
  return out;
}

Json classes_json(const std::vector<Record>& records) {
  std::set<std::string> ops;
  for (const Record& record : records) {
    for (const profilers::LaunchRecord& launch : record.launches) {
      ops.insert(launch.cost.op);
    }
  }
  Json out = Json::object();
  for (const std::string& op : ops) {
    out[op] = kernel_class(op);
  }
  return out;
}

void add_phases(Json& out, const std::vector<Record>& records) {
  out["trajectories"] = Json::array();
  for (const Trajectory& one : trajectories(records)) {
    out["trajectories"].push_back({{"name", one.name}, {"cases", one.records}});
  }
  out["caches"] = Json::array();
  for (const CacheGrowth& growth : cache_growth(records)) {
    Json points = Json::array();
    for (const CachePoint& point : growth.points) {
      points.push_back({point.record, point.length, point.bytes});
    }
    out["caches"].push_back({{"name", growth.name}, {"points", std::move(points)}});
  }
}

/// Columns of bytes from the least that must move to what did move, as far as this build has them.
Json ladder_json() {
  struct Rung {
    std::string_view column;
    std::string_view label;
  };
  static constexpr std::array<Rung, 6> kRungs = {{{"compulsory_bytes", "compulsory"},
                                                  {"bytes", "launch by launch"},
                                                  {"modelled_l2_bytes", "into L2 by the cache model"},
                                                  {"modelled_l3_bytes", "into L3 by the cache model"},
                                                  {"modelled_dram_bytes", "into DRAM by the cache model"},
                                                  {"dram_bytes", "measured in DRAM"}}};
  Json out = Json::array();
  for (const Rung& rung : kRungs) {
    const auto& columns = case_columns();
    const auto at = std::find_if(columns.begin(), columns.end(),
                                 [&](const CaseColumn& column) { return column.spec.name == rung.column; });
    if (at != columns.end()) {
      out.push_back({{"column", rung.column}, {"label", rung.label}, {"origin", name_of(at->spec.origin)}});
    }
  }
  return out;
}

/// Samples in ten thousandths of the median, and which of them the host disturbed.
Json samples_of(const profilers::Measurement& measured, std::size_t step) {
  Json times = Json::array();
  Json disturbed = Json::array();
  for (std::size_t i = 0; i < measured.samples_s.size(); i += step) {
    if (i < measured.conditions.size()) {
      const profilers::SampleConditions& conditions = measured.conditions[i];
      if (conditions.steal_s.value_or(0.0) > 0.0 || conditions.context_switches.value_or(0) > 0 ||
          conditions.page_faults.value_or(0) > 0) {
        disturbed.push_back(times.size());
      }
    }
    times.push_back(static_cast<std::int64_t>(std::llround(measured.samples_s[i] / *measured.time_median_s * 1e4)));
  }
  return {{"step", step}, {"of", measured.samples_s.size()}, {"times", times}, {"disturbed", disturbed}};
}

/// Cases without samples are null. Returns how many cases with samples found no room.
std::size_t add_samples(Json& out, const std::vector<Record>& records, const SampleLimits& limits) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& measured = records[i].measured;
    if (measured && measured->time_median_s && *measured->time_median_s > 0.0 && !measured->samples_s.empty()) {
      order.push_back(i);
    }
  }
  const auto is_steady = [&](std::size_t i) { return records[i].measured->stability == profilers::Stability::kStable; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return is_steady(a) < is_steady(b); });
  std::vector<Json> samples(records.size());
  std::size_t used = 0;
  std::size_t left_out = 0;
  for (const std::size_t i : order) {
    const std::size_t count = records[i].measured->samples_s.size();
    const std::size_t step = (count + limits.per_case - 1) / limits.per_case;
    const std::size_t kept = (count + step - 1) / step;
    if (used + kept > limits.in_all) {
      ++left_out;
      continue;
    }
    used += kept;
    samples[i] = samples_of(*records[i].measured, step);
  }
  out["samples"] = std::move(samples);
  return left_out;
}

void add_cases(Json& out, const ResultSet& results, const std::vector<std::string>& names,
               const RooflineChart& roofline, const ThroughputChart& throughput) {
  std::map<std::string, int> series;
  out["series"] = Json::array();
  std::vector<Json> cases;
  cases.reserve(results.records.size());
  for (std::size_t i = 0; i < results.records.size(); ++i) {
    const Record& record = results.records[i];
    const std::string name = series_name(record);
    const auto [at, is_new] = series.emplace(name, static_cast<int>(series.size()));
    if (is_new) {
      out["series"].push_back(name);
    }
    // What is usual or absent is left out: there may be ten thousand.
    Json one = Json::object();
    one.get_ref<Json::object_t&>().reserve(8); // growing copies what is there
    one["name"] = names[i];
    one["series"] = at->second;
    if (record.status != profilers::Status::kOk) {
      one["status"] = name_of(record.status);
    }
    if (!record.roof.bound.empty()) {
      one["bound"] = bound_text(record.roof);
    }
    if (const auto passes = attention_passes(record)) {
      one["passes"] = *passes;
    }
    cases.push_back(std::move(one));
  }
  for (const NotDrawn& one : roofline.not_drawn) {
    cases[one.record]["why"] = one.reason;
  }
  for (const ChartPoint& point : throughput.points) {
    cases[point.record]["fx"] = page_number(point.x);
    cases[point.record]["fy"] = page_number(point.y);
  }
  out["cases"] = std::move(cases);
}

} // namespace

void add_charts(Json& out, const ResultSet& results, const std::vector<std::string>& names,
                const SampleLimits& limits) {
  const RooflineChart roofline = roofline_chart(results);
  const ThroughputChart throughput = throughput_chart(results);
  out["roofs"] = Json::array();
  for (const RoofSet& set : roofline.roofs) {
    out["roofs"].push_back(roofs_json(set));
  }
  out["roofline"] = {{"x", range_json(roofline.x)}, {"y", range_json(roofline.y)}};
  if (roofline.points.empty()) {
    out["roofline"] = {{"x", Json::array({0, 0})}, {"y", Json::array({0, 0})}};
  }
  out["throughput"] = {{"x", range_json(throughput.x)}, {"y", range_json(throughput.y)}, {"item", throughput.item}};
  add_cases(out, results, names, roofline, throughput);
  out["plan_pairs"] = plan_pairs(results.records);
  out["fronts"] = fronts_json(throughput);
  out["ranking"] = ranking_json(results.records);
  out["families"] = families_json(results.records);
  out["classes"] = classes_json(results.records);
  add_phases(out, results.records);
  out["ladder"] = ladder_json();
  out["samples_left_out"] = add_samples(out, results.records, limits);
}

} // namespace attnprof::reports
