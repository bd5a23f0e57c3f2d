#include "cli/gate_views.hpp"

#include "reports/console.hpp"
#include "reports/format.hpp"
#include "reports/schema.hpp"
#include "reports/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace attnprof::cli {
namespace {

using profilers::Record;
using reports::Json;

/// Records of both sides, in the order of the rows.
std::vector<Record> all_records(const ComparedRuns& runs) {
  std::vector<Record> all = runs.before;
  std::set<std::string> known;
  for (const Record& record : runs.before) {
    known.insert(record.id);
  }
  std::copy_if(runs.after.begin(), runs.after.end(), std::back_inserter(all),
               [&](const Record& record) { return !known.contains(record.id); });
  return all;
}

std::string value_text(const std::optional<double>& value, const Comparison& comparison) {
  const std::string& metric = comparison.metrics.front();
  return metric.ends_with("_s") && !metric.ends_with("_per_s") ? reports::seconds(value) : reports::plain(value);
}

/// "+12.3 %"; a baseline of 0 has no relative change, and says so (BUG-188, BUG-189).
std::string change_text(const RowChange& row) {
  if (row.ratio) {
    return fmt::format("{:+.1f} %", (*row.ratio - 1) * 100);
  }
  if (row.before && row.after) {
    return *row.after == 0.0 ? "no change" : "n/a (baseline 0)";
  }
  return std::string(reports::kAbsentText);
}

std::string interval_text(const RowChange& row) {
  return row.interval ? fmt::format("{:+.1f}..{:+.1f} %", (row.interval->low - 1) * 100, (row.interval->high - 1) * 100)
                      : std::string(reports::kAbsentText);
}

std::string verdict_text(const RowChange& row) {
  return row.reason.empty() ? std::string(name_of(row.change))
                            : fmt::format("{} ({})", name_of(row.change), row.reason);
}

/// Heads and cells of the figures of a row, which differ by the kind of gate.
std::vector<std::string> figure_heads(const Comparison& comparison) {
  return comparison.kind == GateKind::kCounts
             ? std::vector<std::string>{}
             : std::vector<std::string>{"before", "after", "change", "95 % interval", "would find"};
}
std::vector<std::string> figure_cells(const RowChange& row, const Comparison& comparison) {
  if (comparison.kind == GateKind::kCounts) {
    return {};
  }
  return {value_text(row.before, comparison), value_text(row.after, comparison), change_text(row), interval_text(row),
          reports::percent(row.smallest_detectable)};
}

Json json_of(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

std::string sentence_of(const RowChange& row) {
  std::string out = fmt::format("{}: {}", name_of(row.change), row.id);
  if (row.interval) {
    out += fmt::format(": {} (95 % interval {})", change_text(row), interval_text(row));
  } else if (row.ratio && row.change != Change::kChanged) {
    out += ": " + change_text(row);
  }
  return row.reason.empty() ? out : fmt::format("{}: {}", out, row.reason);
}

} // namespace

std::string change_sentence(const Comparison& comparison) {
  std::map<Change, std::size_t> counts;
  for (const RowChange& row : comparison.rows) {
    ++counts[row.change];
  }
  const std::size_t missing = counts[Change::kMissing];
  const std::size_t added = counts[Change::kNew];
  std::vector<std::string> parts;
  for (const auto& [change, count] : counts) {
    if (count > 0 && change != Change::kMissing && change != Change::kNew) {
      parts.push_back(fmt::format("{} {}", count, name_of(change)));
    }
  }
  const std::string how =
      comparison.kind == GateKind::kCounts
          ? fmt::format("equal {}", fmt::join(comparison.metrics, ", "))
          : fmt::format("{}, threshold {}", comparison.metrics.front(), reports::percent(comparison.threshold));
  std::string out = fmt::format("{} matched rows by {}: {}", comparison.rows.size() - missing - added, how,
                                parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", ")));
  if (missing > 0) {
    out += fmt::format("; {} only in before (MISSING)", missing);
  }
  if (added > 0) {
    out += fmt::format("; {} only in after (NEW)", added);
  }
  if (comparison.noise_floor) {
    out += fmt::format("; noise floor {} (A/A self-test of {})", reports::percent(comparison.noise_floor),
                       comparison.self_tests);
  }
  return out;
}

std::string change_table(const Comparison& comparison, const ComparedRuns& runs) {
  const std::vector<std::string> names = reports::short_names(all_records(runs));
  using reports::Align;
  std::vector<reports::TextColumn> columns = {{"case", Align::kLeft}};
  for (const std::string& head : figure_heads(comparison)) {
    columns.push_back({head});
  }
  columns.push_back({"verdict", Align::kLeft});
  std::vector<std::vector<std::string>> cells;
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const RowChange& row = comparison.rows[i];
    cells.push_back({names[i]});
    for (std::string& cell : figure_cells(row, comparison)) {
      cells.back().push_back(std::move(cell));
    }
    cells.back().push_back(verdict_text(row));
  }
  return reports::text_table(columns, cells) + change_sentence(comparison) + "\n";
}

Json change_json(const Comparison& comparison) {
  Json out = {{"schema_version", reports::kSchemaVersion},
              {"gate", name_of(comparison.kind)},
              {"metrics", comparison.metrics},
              {"threshold", comparison.threshold},
              {"noise_floor", json_of(comparison.noise_floor)},
              {"self_tests", comparison.self_tests},
              {"correction", comparison.kind == GateKind::kTimes ? Json("holm") : Json()},
              {"rows", Json::array()}};
  for (const RowChange& row : comparison.rows) {
    out["rows"].push_back(
        {{"id", row.id},
         {"verdict", name_of(row.change)},
         {"before", json_of(row.before)},
         {"after", json_of(row.after)},
         {"ratio", json_of(row.ratio)},
         {"interval", row.interval ? Json::array({json_of(row.interval->low), json_of(row.interval->high)}) : Json()},
         {"smallest_detectable", json_of(row.smallest_detectable)},
         {"p", json_of(row.p)},
         {"reason", row.reason.empty() ? Json() : Json(row.reason)}});
  }
  return out;
}

std::string change_junit(const Comparison& comparison, const GateOptions& options) {
  std::size_t failures = 0;
  std::size_t skipped = 0;
  std::string cases;
  for (const RowChange& row : comparison.rows) {
    const std::string message = reports::escape_markup(sentence_of(row));
    std::string outcome;
    if (fails(row.change, options)) {
      ++failures;
      outcome = fmt::format("    <failure type=\"{}\" message=\"{}\"/>\n", name_of(row.change), message);
    } else if (row.change == Change::kInconclusive || row.change == Change::kUnmeasured) {
      ++skipped;
      outcome = fmt::format("    <skipped message=\"{}\"/>\n", message);
    }
    std::string properties = fmt::format("      <property name=\"verdict\" value=\"{}\"/>\n", name_of(row.change));
    const auto property = [&](const char* name, const std::optional<double>& value) {
      if (value && std::isfinite(*value)) {
        properties += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, reports::exact(*value));
      }
    };
    property("before", row.before);
    property("after", row.after);
    property("ratio", row.ratio);
    property("smallest_detectable", row.smallest_detectable);
    cases += fmt::format("  <testcase classname=\"attnprof.compare\" name=\"{}\">\n    <properties>\n{}    "
                         "</properties>\n{}  </testcase>\n",
                         reports::escape_markup(row.id), properties, outcome);
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                     "<testsuite name=\"attnprof compare\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n"
                     "{}</testsuite>\n",
                     comparison.rows.size(), failures, skipped, cases);
}

std::string change_markdown(const Comparison& comparison, const ComparedRuns& runs, const GateOptions& options,
                            const std::vector<std::string>& links) {
  const std::vector<Record> all = all_records(runs);
  const std::vector<std::string> params = reports::telling_params(all);
  using reports::Align;
  std::vector<reports::TextColumn> columns;
  for (const std::string& param : params) {
    columns.push_back({param, Align::kLeft});
  }
  for (const std::string& head : figure_heads(comparison)) {
    columns.push_back({head});
  }
  columns.push_back({"verdict", Align::kLeft});
  std::vector<std::vector<std::string>> telling;
  std::vector<std::vector<std::string>> same;
  bool failed = false;
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const RowChange& row = comparison.rows[i];
    failed = failed || fails(row.change, options);
    std::vector<std::string> cells;
    for (const std::string& param : params) {
      const std::string value = operators::to_string(all[i].config.get(param));
      cells.push_back(value.empty() ? std::string(reports::kAbsentText) : value);
    }
    for (std::string& cell : figure_cells(row, comparison)) {
      cells.push_back(std::move(cell));
    }
    cells.push_back(verdict_text(row));
    (row.change == Change::kSame ? same : telling).push_back(std::move(cells));
  }
  std::string out = fmt::format("### attnprof: {}\n\n{}\n", failed ? "the gate fails" : "the gate passes",
                                reports::escape_markdown(change_sentence(comparison)));
  if (!telling.empty()) {
    out += "\n" + reports::markdown_table(columns, telling);
  }
  if (!same.empty()) {
    out += fmt::format("\n<details><summary>{} rows are the same</summary>\n\n{}\n</details>\n", same.size(),
                       reports::markdown_table(columns, same));
  }
  std::vector<std::string> texts;
  for (const std::string& link : links) {
    const std::size_t sign = link.find('=');
    texts.push_back(fmt::format("[{}](<{}>)", reports::escape_markdown(link.substr(0, sign)), link.substr(sign + 1)));
  }
  return texts.empty() ? out : fmt::format("{}\n{}\n", out, fmt::join(texts, " · "));
}

namespace {

/// As the runner decodes them: % first, and in properties also : and , (actions/toolkit, command.ts).
std::string command_text(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (is_property && (c == ':' || c == ','));
    out += special ? fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c))) : std::string(1, c);
  }
  return out;
}

} // namespace

std::string change_annotations(const Comparison& comparison, const ComparedRuns& runs, const GateOptions& options) {
  std::string out;
  for (const RowChange& row : comparison.rows) {
    const bool fatal = fails(row.change, options);
    if (!fatal && row.change != Change::kInconclusive && row.change != Change::kNew) {
      continue;
    }
    const char* level = fatal ? "error" : row.change == Change::kNew ? "notice" : "warning";
    // A missing row is in the earlier file alone.
    const std::string& file = row.change == Change::kMissing ? runs.before_path : runs.after_path;
    out += fmt::format("::{} file={},title={}::{}\n", level, command_text(file, true),
                       command_text(fmt::format("attnprof {}", name_of(row.change)), true),
                       command_text(sentence_of(row), false));
  }
  return out;
}

} // namespace attnprof::cli
