#include "reports/writers/html_payload.hpp"

#include "reports/columns.hpp"
#include "reports/concurrent.hpp"
#include "reports/launch_groups.hpp"
#include "reports/verdict.hpp"
#include "reports/warning_groups.hpp"
#include "reports/writers/html_charts.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace attnprof::reports {
namespace {

using profilers::Record;

struct CellPayload {
  Json operator()(std::monostate /*absent*/) const { return nullptr; }
  Json operator()(std::int64_t value) const { return value; }
  Json operator()(double value) const { return page_number(value); }
  Json operator()(bool value) const { return value; }
  Json operator()(const std::string& value) const { return value; }
};

Json column_json(const ColumnSpec& spec) {
  return {{"name", spec.name},
          {"unit", spec.unit},
          {"group", std::string(name_of(spec.group))},
          {"type", std::string(name_of(spec.type))},
          {"origin", std::string(name_of(spec.origin))},
          {"definition", spec.definition},
          {"formula", spec.formula}};
}

/// What the charts and the first table need; the rest is left out of very large pages.
bool is_main_column(const ColumnSpec& spec) {
  static constexpr std::array<std::string_view, 27> kMain = {
      "id",          "status",        "reason",          "warnings",       "flops",     "bytes",
      "intensity",   "time_median_s", "time_ci_low_s",   "time_ci_high_s", "stability", "flops_per_s",
      "items_per_s", "item",          "roof_fraction",   "bound",          "plan",      "attainable_flops_per_s",
      "model",       "variant",       "layout",          "phase",          "dtype",     "math",
      "device",      "threads",       "compulsory_bytes"};
  return std::find(kMain.begin(), kMain.end(), spec.name) != kMain.end();
}

/// Columns whose cells differ go to `columns` and `rows`, the others to `constants`.
void add_rows(Json& out, const std::vector<Record>& records, bool main_only) {
  out["columns"] = Json::array();
  out["constants"] = Json::object();
  out["glossary"] = Json::array();
  std::vector<const CaseColumn*> columns;
  for (const CaseColumn& column : case_columns()) {
    out["glossary"].push_back(column_json(column.spec));
    if (!main_only || is_main_column(column.spec)) {
      columns.push_back(&column);
    }
  }
  // Record by record: ten thousand of them are in no cache.
  std::vector<std::vector<Json>> cells_of(columns.size());
  for (const Record& record : records) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      cells_of[i].push_back(std::visit(CellPayload{}, columns[i]->get(record)));
    }
  }
  std::vector<Json> rows(records.size(), Json::array());
  for (std::size_t at = 0; at < columns.size(); ++at) {
    const CaseColumn& column = *columns[at];
    std::vector<Json>& cells = cells_of[at];
    const bool same = std::all_of(cells.begin(), cells.end(), [&](const Json& each) { return each == cells.front(); });
    if (same) {
      out["constants"][column.spec.name] = cells.empty() ? Json(nullptr) : cells.front();
      continue;
    }
    out["columns"].push_back(column_json(column.spec));
    for (std::size_t i = 0; i < records.size(); ++i) {
      rows[i].push_back(std::move(cells[i]));
    }
  }
  out["rows"] = std::move(rows);
}

/// Texts by number: scopes and primitives repeat from case to case.
class TextTable {
 public:
  int number_of(const std::string& text) {
    if (text.empty()) {
      return -1;
    }
    const auto [at, is_new] = numbers_.emplace(text, static_cast<int>(numbers_.size()));
    if (is_new) {
      texts_.push_back(text);
    }
    return at->second;
  }
  [[nodiscard]] const Json& texts() const { return texts_; }

 private:
  std::map<std::string, int> numbers_;
  Json texts_ = Json::array();
};

Json kernel_row(const LaunchGroup& group, TextTable& texts) {
  const std::string bound =
      group.bound.empty() ? std::string() : bound_text(group.bound, group.ambiguous, group.roof_level);
  return Json::array({texts.number_of(group.scope), texts.number_of(group.op), texts.number_of(group.shape),
                      texts.number_of(group.kernel_impl), texts.number_of(bound),
                      static_cast<std::int64_t>(group.count), group.work.flops().value(), group.bytes.value(),
                      page_number(group.time_s), page_number(group.roof_time_s)});
}

double time_or_zero(const Record& record) {
  return record.measured ? record.measured->time_median_s.value_or(0.0) : 0.0;
}

/// Fills kernels and texts; returns the number of cases whose launches were left out.
std::size_t add_kernels(Json& out, const std::vector<Record>& records, std::size_t most_rows) {
  std::vector<std::size_t> order(records.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return time_or_zero(records[a]) > time_or_zero(records[b]); });
  std::vector<Json> kernels(records.size(), Json::array());
  TextTable texts;
  std::size_t used = 0;
  std::size_t left_out = 0;
  for (const std::size_t index : order) {
    if (has_more_groups_than(most_rows - used, records[index])) {
      ++left_out;
      continue;
    }
    const std::vector<LaunchGroup> groups = launch_groups(records[index]);
    used += groups.size();
    for (const LaunchGroup& group : groups) {
      kernels[index].push_back(kernel_row(group, texts));
    }
  }
  out["kernels"] = std::move(kernels);
  out["texts"] = texts.texts();
  return left_out;
}

void add_warnings(Json& out, const std::vector<WarningGroup>& groups, const std::vector<std::string>& names) {
  out["warnings"] = Json::array();
  for (const WarningGroup& group : groups) {
    out["warnings"].push_back(group_text(group, names));
  }
}

std::string replaced(const std::string& text, char which, std::string_view by) {
  std::string out;
  out.reserve(text.size());
  std::size_t begin = 0;
  for (std::size_t at = text.find(which); at != std::string::npos; at = text.find(which, begin)) {
    out.append(text, begin, at - begin).append(by);
    begin = at + 1;
  }
  return out.append(text, begin);
}

} // namespace

Payload html_payload(const ResultSet& results, const PayloadLimits& limits, const Json& history) {
  Payload out;
  out.json = Json::object();
  out.json["schema_version"] = kSchemaVersion;
  auto warnings = begin_beside(usable_threads(), [&results] { return warning_groups(results.records); });
  const bool main_only = results.records.size() > limits.all_columns_cases;
  add_rows(out.json, results.records, main_only);
  const std::size_t left_out =
      add_kernels(out.json, results.records, main_only ? limits.kernel_rows / 2 : limits.kernel_rows);
  const std::vector<std::string> names = short_names(results.records);
  add_charts(out.json, results, names, main_only ? SampleLimits{50, 10'000} : SampleLimits{});
  add_warnings(out.json, warnings.get(), names);
  if (!history.is_null()) {
    out.json["history"] = history;
  }
  if (main_only) {
    out.trimmed = fmt::format("With {} cases this page holds the main columns only; results.csv has all.",
                              results.records.size());
  }
  if (left_out > 0) {
    out.trimmed += fmt::format("{}The launches of {} cases with little time are left out; kernels.csv has them.",
                               out.trimmed.empty() ? "" : " ", left_out);
  }
  return out;
}

std::string script_safe_json(const Json& json) {
  return replaced(replaced(json_text(json), '<', "\\u003c"), '>', "\\u003e");
}

} // namespace attnprof::reports
