#include "tests/lint/documents.hpp"

#include "operators/workload.hpp"
#include "reports/schema.hpp"

#include <map>
#include <stdexcept>
#include <utility>

namespace attnprof::tests::lint {
namespace {

constexpr std::string_view kEndMark = "<!-- end of table -->";

std::string start_mark(const std::string& name) {
  return "<!-- table: " + name + " -->\n";
}

/// Begin and length of the table's text.
std::optional<std::pair<std::size_t, std::size_t>> find_table(std::string_view document, const std::string& name) {
  const std::string start = start_mark(name);
  const std::size_t found = document.find(start);
  if (found == document.npos)
    return std::nullopt;
  const std::size_t begin = found + start.size();
  const std::size_t end = document.find(kEndMark, begin);
  if (end == document.npos)
    return std::nullopt;
  return std::pair{begin, end - begin};
}

std::string row_of(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) {
    row += ' ';
    for (const char character : cell)
      row += character == '|' ? std::string("\\|") : std::string(1, character);
    row += " |";
  }
  return row + "\n";
}

std::string code(const std::string& text) {
  return text.empty() ? text : "`" + text + "`";
}

std::string values_of(const operators::ParamSpec& spec) {
  using operators::ParamKind;
  switch (spec.kind) {
  case ParamKind::kInteger: return "whole number from " + std::to_string(spec.min);
  case ParamKind::kReal: return "positive number";
  case ParamKind::kFlag: return "on or off";
  case ParamKind::kGrid: return "HxW";
  case ParamKind::kText: return "text";
  case ParamKind::kChoice: break;
  }
  std::string names;
  for (const std::string& choice : spec.choices)
    names += (names.empty() ? "" : ", ") + code(choice);
  return names;
}

std::string flags_table() {
  std::vector<std::vector<std::string>> rows;
  for (const operators::ParamSpec& spec : operators::all_params())
    rows.push_back({code(spec.flag()), values_of(spec), code(operators::to_string(spec.fallback)), spec.help});
  return markdown_table({"flag", "values", "default", "meaning"}, rows);
}

template <class Descriptors>
std::string descriptor_table(const Descriptors& descriptors) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : descriptors)
    rows.push_back({code(one.name), one.summary, one.source});
  return markdown_table({"name", "what it is", "source"}, rows);
}

/// One row for a family: models of one source.
std::string models_table() {
  std::vector<std::string> sources;
  std::map<std::string, std::string> names;
  for (const operators::ModelDescriptor& model : operators::models()) {
    std::string& list = names[model.source];
    if (list.empty())
      sources.push_back(model.source);
    list += (list.empty() ? "" : ", ") + code(model.name);
  }
  std::vector<std::vector<std::string>> rows;
  for (const std::string& source : sources)
    rows.push_back({names[source], source});
  return markdown_table({"names", "source"}, rows);
}

} // namespace

std::string markdown_table(const std::vector<std::string>& titles, const std::vector<std::vector<std::string>>& rows) {
  std::string table = row_of(titles) + "|";
  for (std::size_t column = 0; column < titles.size(); ++column)
    table += "---|";
  table += "\n";
  for (const auto& row : rows)
    table += row_of(row);
  return table;
}

std::optional<std::string> table_in(std::string_view document, const std::string& name) {
  const auto place = find_table(document, name);
  return place ? std::optional(std::string(document.substr(place->first, place->second))) : std::nullopt;
}

std::string with_table(std::string_view document, const std::string& name, std::string_view table) {
  const auto place = find_table(document, name);
  if (!place)
    throw std::runtime_error("the document has no '" + start_mark(name) + "' with its '" + std::string(kEndMark) + "'");
  return std::string(document).replace(place->first, place->second, table);
}

std::vector<DocumentPart> generated_parts() {
  return {{"README.md", "flags", flags_table()},
          {"README.md", "variants", descriptor_table(operators::variants())},
          {"README.md", "layouts", descriptor_table(operators::layouts())},
          {"README.md", "models", models_table()},
          {"docs/columns.md", "", reports::columns_markdown()}};
}

} // namespace attnprof::tests::lint
