#include "tests/integration/cli_support.hpp"

#include "tests/support/paths.hpp"
#include <fstream>
#include <iterator>
#include <sstream>

namespace attnprof::tests {

Workplace::Workplace() {
  options_.working_directory = folder_.path();
  const std::filesystem::path cache = std::filesystem::path(binary()).parent_path() / "test-cache";
  options_.environment["XDG_CACHE_HOME"] = cache.string();
  // The tests are the same on a CI runner as anywhere else.
  options_.environment["ATTNPROF_RUNNER"] = "dedicated";
}

std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> out;
  std::string word;
  bool quoted = false;
  bool any = false;
  for (const char c : line + " ") {
    if (c == '\'') {
      quoted = !quoted;
      any = true;
    } else if (c == ' ' && !quoted) {
      if (any) {
        out.push_back(word);
      }
      word.clear();
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  return out;
}

RunResult Workplace::run(const std::string& line) const {
  return run(words(line));
}
RunResult Workplace::run(const std::string& line,
                         const std::map<std::string, std::optional<std::string>>& variables) const {
  RunOptions options = options_;
  for (const auto& [name, value] : variables) {
    options.environment[name] = value;
  }
  return run_binary(words(line), options);
}
RunResult Workplace::run(const std::vector<std::string>& args) const {
  return run_binary(args, options_);
}

std::string Workplace::text(const std::string& name) const {
  std::ifstream stream(file(name), std::ios::binary);
  INFO(name);
  REQUIRE(stream);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> Workplace::lines(const std::string& name) const {
  std::istringstream stream(text(name));
  std::vector<std::string> out;
  for (std::string line; std::getline(stream, line);) {
    out.push_back(line);
  }
  return out;
}

std::vector<nlohmann::json> Workplace::records(const std::string& folder) const {
  std::vector<nlohmann::json> out;
  for (const std::string& line : lines(folder + "/records.jsonl")) {
    out.push_back(nlohmann::json::parse(line));
  }
  return out;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::map<std::string, std::string>> csv_rows(const std::string& text) {
  std::vector<std::vector<std::string>> table(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      table.back().back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      table.back().emplace_back();
    } else if (c == '\n' && !quoted) {
      table.push_back({""});
    } else {
      table.back().back() += c;
    }
  }
  table.pop_back(); // what follows the last line end
  std::vector<std::map<std::string, std::string>> rows;
  for (std::size_t i = 1; i < table.size(); ++i) {
    REQUIRE(table[i].size() == table[0].size()); // BUG-178
    std::map<std::string, std::string> row;
    for (std::size_t j = 0; j < table[0].size(); ++j) {
      row[table[0][j]] = table[i][j];
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace attnprof::tests
