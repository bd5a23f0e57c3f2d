// Reading what the CSV writers wrote, by the rules of the format and not of the writers.
#pragma once
#include "tests/support/catch.hpp"

#include <map>
#include <string>
#include <vector>

namespace attnprof::tests {

/// A strict reader of RFC 4180, written against the RFC and not against the writer.
inline std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1);
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
        field += c;
        ++i;
      } else if (c == '"') {
        quoted = false;
      } else {
        field += c;
      }
    } else if (c == '"') {
      REQUIRE(field.empty());
      quoted = true;
    } else if (c == ',') {
      rows.back().push_back(std::move(field));
      field.clear();
    } else if (c == '\n') {
      rows.back().push_back(std::move(field));
      field.clear();
      rows.emplace_back();
    } else {
      field += c;
    }
  }
  REQUIRE_FALSE(quoted);
  REQUIRE(rows.back().empty()); // the text ends with a line end
  rows.pop_back();
  return rows;
}

/// The rows behind the header, by column name.
inline std::vector<std::map<std::string, std::string>> rows_by_name(const std::string& text) {
  const auto rows = read_csv(text);
  std::vector<std::map<std::string, std::string>> out;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    REQUIRE(rows[i].size() == rows[0].size());
    out.emplace_back();
    for (std::size_t k = 0; k < rows[i].size(); ++k) {
      out.back()[rows[0][k]] = rows[i][k];
    }
  }
  return out;
}

} // namespace attnprof::tests
