#include "cli/gate.hpp"

#include "cli/exit_code.hpp"
#include "operators/core/error.hpp"
#include "operators/core/registry.hpp"
#include "reports/console.hpp"
#include "reports/format.hpp"
#include "reports/schema.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using profilers::Record;
using profilers::Status;

constexpr std::string_view kTimeMetric = "time_median_s";

struct Range {
  double low = 0;
  double high = 0;
};

std::optional<double> number(const reports::Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    return static_cast<double>(*whole);
  }
  const auto* real = std::get_if<double>(&cell);
  return real == nullptr ? std::nullopt : std::optional(*real);
}

/// Where the median may lie. Too few samples for an interval still span a range; one sample spans nothing.
std::optional<Range> range_of(const Record& record) {
  const profilers::Measurement& measured = *record.measured;
  if (measured.time_ci_low_s && measured.time_ci_high_s) {
    return Range{*measured.time_ci_low_s, *measured.time_ci_high_s};
  }
  if (measured.samples_s.size() < 2) {
    return std::nullopt;
  }
  const auto [low, high] = std::minmax_element(measured.samples_s.begin(), measured.samples_s.end());
  return Range{*low, *high};
}

bool larger_is_better(std::string_view metric) {
  return metric.ends_with("_per_s") || metric.ends_with("_fraction");
}

class Gate {
 public:
  explicit Gate(const GateOptions& options) : options_(options), column_(reports::case_column(options.metric)) {
    if (column_.spec.type != reports::Type::kInteger && column_.spec.type != reports::Type::kReal) {
      throw Error(
          ErrorKind::kUsage,
          fmt::format("--metric {} is no number; compare time_median_s or another numeric column", options.metric));
    }
  }

  RowChange compare(const Record& before, const Record* after) const {
    RowChange row;
    row.id = before.id;
    row.before = value_of(before);
    if (after != nullptr) {
      row.after = value_of(*after);
    }
    if (before.status != Status::kOk || !row.before) {
      row.change = Change::kUnmeasured;
    } else if (after == nullptr) {
      row.change = Change::kMissing;
    } else if (after->status != Status::kOk || !row.after) {
      row.change = Change::kFailed;
      row.reason = fmt::format("{}: {}", profilers::name_of(after->status),
                               after->reason.empty() ? options_.metric + " is absent" : after->reason);
    } else {
      judge(row, before, *after);
    }
    return row;
  }

  RowChange added(const Record& after) const {
    RowChange row;
    row.id = after.id;
    row.change = Change::kNew;
    row.after = value_of(after);
    return row;
  }

 private:
  std::optional<double> value_of(const Record& record) const { return number(column_.get(record)); }

  void judge(RowChange& row, const Record& before, const Record& after) const {
    if (*row.before != 0.0) {
      row.ratio = *row.after / *row.before;
    }
    const bool reversed = larger_is_better(options_.metric);
    const double worse = reversed ? *row.before - *row.after * (1 + options_.threshold)
                                  : *row.after - *row.before * (1 + options_.threshold);
    const double better = reversed ? *row.after - *row.before * (1 + options_.threshold)
                                   : *row.before - *row.after * (1 + options_.threshold);
    const std::optional<bool> apart = ranges_apart(before, after);
    if (worse > 0) {
      row.change = apart.value_or(false) ? Change::kSlower : Change::kInconclusive;
    } else {
      row.change = better > 0 && apart.value_or(false) ? Change::kFaster : Change::kSame;
    }
  }

  /// Whether the difference is more than noise; absent where that is not known. Counts and rates have no noise of their
  /// own.
  std::optional<bool> ranges_apart(const Record& before, const Record& after) const {
    if (options_.metric != kTimeMetric) {
      return true;
    }
    const std::optional<Range> a = range_of(before);
    const std::optional<Range> b = range_of(after);
    return a && b ? std::optional(a->high < b->low || b->high < a->low) : std::nullopt;
  }

  const GateOptions& options_;
  const reports::CaseColumn& column_;
};

bool& switch_of(GateOptions& options, std::string_view name) {
  if (name == "regress") {
    return options.fail_on_regress;
  }
  if (name == "missing") {
    return options.fail_on_missing;
  }
  if (name == "fail") {
    return options.fail_on_fail;
  }
  if (name == "inconclusive") {
    return options.fail_on_inconclusive;
  }
  if (name == "implausible") {
    return options.fail_on_implausible;
  }
  const std::string near =
      operators::nearest_name(name, {"regress", "missing", "fail", "inconclusive", "implausible", "none"});
  throw Error(ErrorKind::kUsage,
              fmt::format("--fail-on '{}' is not known{}; there are regress, missing, fail, inconclusive, implausible "
                          "and none",
                          name, near.empty() ? "" : fmt::format(", did you mean '{}'?", near)));
}

std::string value_text(const std::optional<double>& value, const GateOptions& options) {
  return options.metric.ends_with("_s") && !options.metric.ends_with("_per_s") ? reports::seconds(value)
                                                                               : reports::plain(value);
}

} // namespace

std::string_view name_of(Change change) {
  switch (change) {
  case Change::kSame: return "same";
  case Change::kFaster: return "better";
  case Change::kSlower: return "regressed";
  case Change::kInconclusive: return "inconclusive";
  case Change::kMissing: return "missing";
  case Change::kFailed: return "failed";
  case Change::kNew: return "new";
  case Change::kUnmeasured: return "unmeasured before";
  }
  return {};
}

void parse_fail_on(std::string_view text, GateOptions& options) {
  options.fail_on_implausible = false;
  options.fail_on_regress = options.fail_on_missing = options.fail_on_fail = options.fail_on_inconclusive = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (const std::string_view name = text.substr(0, end); name != "none") {
      switch_of(options, name) = true;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::vector<RowChange> compare_records(const std::vector<Record>& before, const std::vector<Record>& after,
                                       const GateOptions& options) {
  const Gate gate(options);
  std::map<std::string, const Record*, std::less<>> found;
  for (const Record& record : after) {
    found.emplace(record.id, &record);
  }
  std::vector<RowChange> rows;
  for (const Record& record : before) {
    const auto match = found.find(record.id);
    rows.push_back(gate.compare(record, match == found.end() ? nullptr : match->second));
    if (match != found.end()) {
      found.erase(match);
    }
  }
  for (const Record& record : after) {
    if (found.contains(record.id)) {
      rows.push_back(gate.added(record));
    }
  }
  return rows;
}

int gate_exit_code(const std::vector<RowChange>& rows, const GateOptions& options) {
  const auto any = [&](Change change) {
    return std::any_of(rows.begin(), rows.end(), [&](const RowChange& row) { return row.change == change; });
  };
  if (options.fail_on_regress && any(Change::kSlower)) {
    return kExitRegression;
  }
  if (options.fail_on_fail && any(Change::kFailed)) {
    return kExitRowFailed;
  }
  if (options.fail_on_missing && any(Change::kMissing)) {
    return kExitRowMissing;
  }
  return options.fail_on_inconclusive && any(Change::kInconclusive) ? kExitInconclusive : kExitOk;
}

reports::Json change_json(const std::vector<RowChange>& rows, const GateOptions& options) {
  const auto json = [](const std::optional<double>& value) { return value ? reports::Json(*value) : reports::Json(); };
  reports::Json out = {{"schema_version", reports::kSchemaVersion},
                       {"metric", options.metric},
                       {"threshold", options.threshold},
                       {"rows", reports::Json::array()}};
  for (const RowChange& row : rows) {
    out["rows"].push_back({{"id", row.id},
                           {"change", name_of(row.change)},
                           {"before", json(row.before)},
                           {"after", json(row.after)},
                           {"ratio", json(row.ratio)},
                           {"reason", row.reason.empty() ? reports::Json() : reports::Json(row.reason)}});
  }
  return out;
}

std::string change_table(const std::vector<RowChange>& rows, const std::vector<Record>& before,
                         const std::vector<Record>& after, const GateOptions& options) {
  std::vector<Record> all = before;
  std::set<std::string> known;
  for (const Record& record : before) {
    known.insert(record.id);
  }
  std::copy_if(after.begin(), after.end(), std::back_inserter(all),
               [&](const Record& record) { return !known.contains(record.id); });
  const std::vector<std::string> names = reports::short_names(all); // rows stand in the same order
  std::vector<std::vector<std::string>> cells;
  std::map<Change, std::size_t> counts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RowChange& row = rows[i];
    ++counts[row.change];
    const std::string change =
        row.ratio ? fmt::format("{:+.1f} %", (*row.ratio - 1) * 100) : std::string(reports::kAbsentText);
    const std::string verdict =
        row.reason.empty() ? std::string(name_of(row.change)) : fmt::format("{} ({})", name_of(row.change), row.reason);
    cells.push_back({names[i], value_text(row.before, options), value_text(row.after, options), change, verdict});
  }
  using reports::Align;
  std::string out = reports::text_table(
      {{"case", Align::kLeft}, {"before"}, {"after"}, {"change"}, {"verdict", Align::kLeft}}, cells);
  std::vector<std::string> parts;
  for (const auto& [change, count] : counts) {
    parts.push_back(fmt::format("{} {}", count, name_of(change)));
  }
  return out + fmt::format("{} cases by {}, threshold {}: {}\n", rows.size(), options.metric,
                           reports::percent(options.threshold), fmt::join(parts, ", "));
}

} // namespace attnprof::cli
