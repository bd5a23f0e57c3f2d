#include "tests/support/csv_rows.hpp"

#include <fstream>
#include <stdexcept>

namespace attnprof::tests {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      out.emplace_back();
    } else if (c != '\r') {
      out.back() += c;
    }
  }
  return out;
}

} // namespace

std::vector<std::map<std::string, std::string>> csv_rows(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) {
    throw std::runtime_error("cannot read " + file.string());
  }
  const std::vector<std::string> head = cells_of(line);
  std::vector<std::map<std::string, std::string>> out;
  while (std::getline(stream, line)) {
    const std::vector<std::string> cells = cells_of(line);
    out.emplace_back();
    for (std::size_t i = 0; i < head.size(); ++i) {
      out.back()[head[i]] = i < cells.size() ? cells[i] : std::string();
    }
  }
  return out;
}

} // namespace attnprof::tests
