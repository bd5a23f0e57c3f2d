#include "reports/schema.hpp"

#include "operators/core/error.hpp"
#include "operators/core/registry.hpp"
#include "reports/columns.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace attnprof::reports {

std::string_view name_of(Group group) {
  switch (group) {
  case Group::kCase: return "case";
  case Group::kConfig: return "config";
  case Group::kTotals: return "totals";
  case Group::kKernel: return "kernel";
  case Group::kMeasured: return "measured";
  case Group::kRoof: return "roof";
  }
  return "case";
}

std::string_view name_of(Type type) {
  switch (type) {
  case Type::kText: return "text";
  case Type::kTextList: return "list of texts";
  case Type::kInteger: return "integer";
  case Type::kReal: return "real";
  case Type::kFlag: return "true or false";
  }
  return "text";
}

std::string_view name_of(Origin origin) {
  switch (origin) {
  case Origin::kRequest: return "request";
  case Origin::kClosedForm: return "closed form";
  case Origin::kModel: return "model";
  case Origin::kTimer: return "timer";
  case Origin::kCounter: return "counter";
  case Origin::kSpec: return "spec";
  case Origin::kDerived: return "derived";
  }
  return "derived";
}

Cell cell(std::optional<double> value) {
  return value && std::isfinite(*value) ? Cell(*value) : Cell();
}

std::optional<double> ratio(std::optional<double> a, std::optional<double> b) {
  if (!a || !b || !(*b > 0.0)) {
    return {};
  }
  return *a / *b;
}

std::vector<std::string> all_warnings(const profilers::Record& record) {
  std::vector<std::string> out = record.warnings;
  if (record.measured) {
    for (const std::string& warning : record.measured->warnings) {
      if (std::find(out.begin(), out.end(), warning) == out.end()) {
        out.push_back(warning);
      }
    }
  }
  return out;
}

std::string join_list(const std::vector<std::string>& entries) {
  return fmt::format("{}", fmt::join(entries, "; "));
}

const std::vector<CaseColumn>& case_columns() {
  static const std::vector<CaseColumn> kColumns = [] {
    std::vector<CaseColumn> all;
    for (auto part : {identity_columns(), config_columns(), totals_columns(), measured_columns(), roof_columns(),
                      closing_columns()}) {
      std::move(part.begin(), part.end(), std::back_inserter(all));
    }
    return all;
  }();
  return kColumns;
}

const std::vector<KernelColumn>& kernel_columns() {
  static const std::vector<KernelColumn> kColumns = launch_columns();
  return kColumns;
}

const CaseColumn& case_column(std::string_view name) {
  const auto& columns = case_columns();
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const auto& c) { return c.spec.name == name; });
  if (found == columns.end()) {
    std::vector<std::string> known;
    for (const CaseColumn& column : columns) {
      known.push_back(column.spec.name);
    }
    const std::string nearest = operators::nearest_name(name, known);
    throw operators::Error(operators::ErrorKind::kUsage,
                           fmt::format("no column is called '{}'{}; docs/columns.md lists them all", name,
                                       nearest.empty() ? "" : fmt::format(" (nearest: {})", nearest)));
  }
  return *found;
}

} // namespace attnprof::reports
