#include "reports/writers/csv.hpp"

#include "reports/concurrent.hpp"
#include "reports/format.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::reports {
namespace {

using profilers::Record;

/// Characters that a field must be quoted for. Ids are long, so each is searched for by itself, in blocks.
bool has_special(std::string_view text) {
  const auto has = [&](char c) { return text.find(c) != std::string_view::npos; };
  return has(',') || has('"') || has('\r') || has('\n');
}

void append_csv_field(std::string& out, std::string_view text) {
  const bool needs_quotes = has_special(text) || (!text.empty() && (text.front() == ' ' || text.back() == ' '));
  if (!needs_quotes) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    out += c;
    if (c == '"') {
      out += c;
    }
  }
  out += '"';
}

/// Appends a field; absent values are empty.
struct AppendCell {
  std::string& out;
  void operator()(std::monostate /*absent*/) const {}
  void operator()(std::int64_t value) const {
    const fmt::format_int digits(value);
    out.append(digits.data(), digits.size());
  }
  void operator()(double value) const { append_exact(value, out); }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(const std::string& value) const { append_csv_field(out, value); }
};

} // namespace

std::string csv_field(std::string_view text) {
  std::string out;
  append_csv_field(out, text);
  return out;
}

void CaseLines::append_header(std::string& out) const {
  for (const CaseColumn* column : columns_) {
    append_csv_field(out, column->spec.name);
    out += column == columns_.back() ? '\n' : ',';
  }
}

void CaseLines::append(const Record& record, std::string& out) const {
  for (const CaseColumn* column : columns_) {
    // Texts and parameters are written from where they stand: get() would copy them.
    if (column->text != nullptr) {
      append_csv_field(out, record.*(column->text));
    } else if (column->spec.group == Group::kConfig) {
      std::visit(AppendCell{out}, record.config.get(column->spec.name));
    } else {
      std::visit(AppendCell{out}, column->get(record));
    }
    out += ',';
  }
  out.back() = '\n';
}

std::string results_csv(const std::vector<Record>& records) {
  std::vector<const CaseColumn*> columns;
  for (const CaseColumn& column : case_columns()) {
    columns.push_back(&column);
  }
  const CaseLines lines(std::move(columns));
  std::string out;
  lines.append_header(out);
  return joined_texts(std::move(out), records.size(), usable_threads(),
                      [&](std::size_t i, std::string& text) { lines.append(records[i], text); });
}

std::string kernels_csv(const std::vector<Record>& records) {
  const std::vector<KernelColumn>& columns = kernel_columns();
  std::string out;
  const auto end_field = [&](const KernelColumn& column, std::string& text) {
    text += &column == &columns.back() ? '\n' : ',';
  };
  for (const KernelColumn& column : columns) {
    append_csv_field(out, column.spec.name);
    end_field(column, out);
  }
  return joined_texts(std::move(out), records.size(), usable_threads(), [&](std::size_t at, std::string& text) {
    for (std::size_t i = 0; i < records[at].launches.size(); ++i) {
      for (const KernelColumn& column : columns) {
        std::visit(AppendCell{text}, column.get(records[at], i));
        end_field(column, text);
      }
    }
  });
}

} // namespace attnprof::reports
