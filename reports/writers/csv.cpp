#include "reports/writers/csv.hpp"

#include "reports/format.hpp"
#include "reports/schema.hpp"

#include <fmt/format.h>

namespace attnprof::reports {
namespace {

using profilers::Record;

struct CellText {
  std::string operator()(std::monostate /*absent*/) const { return {}; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return exact(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return csv_field(value); }
};

void append_fields(std::string& out, const std::vector<std::string>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    out += i == 0 ? "" : ",";
    out += fields[i];
  }
  out += '\n';
}

template <class Columns>
std::vector<std::string> header(const Columns& columns) {
  std::vector<std::string> out;
  for (const auto& column : columns) {
    out.push_back(csv_field(column.spec.name));
  }
  return out;
}

} // namespace

std::string csv_field(std::string_view text) {
  const bool needs_quotes = text.find_first_of(",\"\r\n") != std::string_view::npos ||
                            (!text.empty() && (text.front() == ' ' || text.back() == ' '));
  if (!needs_quotes) {
    return std::string(text);
  }
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') {
      out += c;
    }
  }
  return out + '"';
}

std::string results_csv(const std::vector<Record>& records) {
  std::string out;
  append_fields(out, header(case_columns()));
  for (const Record& record : records) {
    std::vector<std::string> fields;
    for (const CaseColumn& column : case_columns()) {
      fields.push_back(std::visit(CellText{}, column.get(record)));
    }
    append_fields(out, fields);
  }
  return out;
}

std::string kernels_csv(const std::vector<Record>& records) {
  std::string out;
  append_fields(out, header(kernel_columns()));
  for (const Record& record : records) {
    for (std::size_t i = 0; i < record.launches.size(); ++i) {
      std::vector<std::string> fields;
      for (const KernelColumn& column : kernel_columns()) {
        fields.push_back(std::visit(CellText{}, column.get(record, i)));
      }
      append_fields(out, fields);
    }
  }
  return out;
}

} // namespace attnprof::reports
