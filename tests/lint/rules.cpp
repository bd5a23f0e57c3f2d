#include "tests/lint/rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

namespace attnprof::tests::lint {
namespace {

/// From the bottom up: a folder may include itself and those before it.
constexpr std::array<std::string_view, 4> kLayers = {"operators", "profilers", "reports", "cli"};
constexpr std::array<std::string_view, 3> kCoreLibraries = {"fmt/", "nlohmann/", "operators/core/"};
constexpr std::array<std::string_view, 9> kRuledOutWords = {"hidden", "embed",   "method", "mode", "data",
                                                            "info",   "manager", "helper", "utils"};
constexpr std::array<std::string_view, 6> kRuledOutFolders = {"common", "util", "utils", "helper", "helpers", "misc"};
constexpr std::string_view kGeneratedHeader = "attnprof_version.hpp";

template <class Range>
bool contains(const Range& range, std::string_view word) {
  return std::find(range.begin(), range.end(), word) != range.end();
}

std::string_view first_folder(std::string_view path) {
  return path.substr(0, path.find('/'));
}

bool has_suffix(std::string_view path, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [path](std::string_view suffix) { return path.ends_with(suffix); });
}

bool is_header(const SourceFile& file) {
  return has_suffix(file.path, {".hpp", ".cuh"});
}
bool is_cpp(const SourceFile& file) {
  return is_header(file) || has_suffix(file.path, {".cpp", ".cu"});
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == text.npos ? std::string_view{} : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

/// Calls visit(line, number from 1) for each line.
template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end), number);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

std::string at(const SourceFile& file, std::size_t line) {
  return file.path + ":" + std::to_string(line) + ": ";
}

struct Include {
  std::string_view target;
  bool quoted = false;
};

/// What `line` includes; an empty target when it includes nothing.
Include include_of(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with('#'))
    return {};
  line = trimmed(line.substr(1));
  if (!line.starts_with("include"))
    return {};
  line = trimmed(line.substr(7));
  if (line.size() < 2 || (line[0] != '"' && line[0] != '<'))
    return {};
  return {line.substr(1, line.find_first_of("\">", 1) - 1), line[0] == '"'};
}

bool is_core_library(const Include& include) {
  const bool is_standard = !include.quoted && include.target.find_first_of("/.") == include.target.npos;
  return is_standard || std::any_of(kCoreLibraries.begin(), kCoreLibraries.end(),
                                    [&](std::string_view prefix) { return include.target.starts_with(prefix); });
}

/// Why the file must not have this include; empty when it may.
std::string include_breach(const SourceFile& file, const Include& include, const std::set<std::string_view>& paths) {
  const std::string target(include.target);
  if (include.quoted && include.target != kGeneratedHeader && !paths.contains(include.target))
    return "\"" + target + "\" is no path from the repository root";
  const auto layer = std::find(kLayers.begin(), kLayers.end(), first_folder(file.path));
  if (layer == kLayers.end())
    return {};
  if (include.quoted && std::find(layer + 1, kLayers.end(), first_folder(include.target)) != kLayers.end())
    return std::string(*layer) + " must not include " + target + ", which is above it";
  if (include.quoted && first_folder(include.target) == "tests")
    return "the product must not include " + target;
  if (file.path.starts_with("operators/core/") && !is_core_library(include))
    return "operators/core must not include " + target;
  return {};
}

/// The words of an identifier, in lower case: `case_info` and `CaseInfo` are "case", "info". Macros, in capitals, have
/// none: most belong to libraries.
std::vector<std::string> words_of(std::string_view identifier) {
  if (std::none_of(identifier.begin(), identifier.end(), [](unsigned char c) { return std::islower(c) != 0; }))
    return {};
  std::vector<std::string> words(1);
  bool after_lower = false;
  for (const char character : identifier) {
    const bool is_upper = std::isupper(static_cast<unsigned char>(character)) != 0;
    if (character == '_' || (is_upper && after_lower))
      words.emplace_back();
    if (character != '_')
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
    after_lower = character != '_' && !is_upper;
  }
  return words;
}

bool is_identifier_character(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
}

/// Whether the name at `begin` is looked up in something else: a member (of a standard container, in practice) or
/// std::.
bool is_foreign_name(std::string_view line, std::size_t begin) {
  const std::string_view before = trimmed(line.substr(0, begin));
  return before.ends_with('.') || before.ends_with("->") || before.ends_with("std::");
}

Breaches vocabulary_breaches(const SourceFile& file) {
  Breaches breaches;
  const std::string code = code_only(file.text);
  for_each_line(code, [&](std::string_view line, std::size_t number) {
    for (std::size_t begin = 0; begin < line.size();) {
      std::size_t end = begin;
      while (end < line.size() && is_identifier_character(line[end]))
        ++end;
      const std::string_view name = line.substr(begin, end - begin);
      if (!is_foreign_name(line, begin))
        for (const std::string& word : words_of(name))
          if (contains(kRuledOutWords, word))
            breaches.push_back(at(file, number) + "'" + word + "' in '" + std::string(name) + "' says too little");
      begin = end + 1;
    }
  });
  return breaches;
}

} // namespace

Breaches check_includes(const std::vector<SourceFile>& files) {
  std::set<std::string_view> paths;
  for (const SourceFile& file : files)
    paths.insert(file.path);
  Breaches breaches;
  for (const SourceFile& file : files) {
    if (!is_cpp(file))
      continue;
    for_each_line(file.text, [&](std::string_view line, std::size_t number) {
      const Include include = include_of(line);
      if (include.target.empty())
        return;
      if (const std::string breach = include_breach(file, include, paths); !breach.empty())
        breaches.push_back(at(file, number) + breach);
    });
  }
  return breaches;
}

Breaches check_file_lengths(const std::vector<SourceFile>& files, std::size_t limit_lines) {
  Breaches breaches;
  for (const SourceFile& file : files) {
    const bool is_script = file.path.starts_with("scripts/") || file.path.starts_with(".ci/");
    if (!is_cpp(file) && !is_script && !has_suffix(file.path, {".cmake", "CMakeLists.txt", ".js", ".css", ".py"}))
      continue;
    const auto lines = static_cast<std::size_t>(std::count(file.text.begin(), file.text.end(), '\n'));
    if (lines > limit_lines)
      breaches.push_back(file.path + ": " + std::to_string(lines) + " lines, over " + std::to_string(limit_lines) +
                         ": split it by topic");
  }
  return breaches;
}

Breaches check_folder_names(const std::vector<SourceFile>& files) {
  std::set<std::string> breaches;
  for (const SourceFile& file : files) {
    for (std::size_t begin = 0, end = 0; (end = file.path.find('/', begin)) != file.path.npos; begin = end + 1)
      if (contains(kRuledOutFolders, std::string_view(file.path).substr(begin, end - begin)))
        breaches.insert(file.path.substr(0, end) + ": name the folder after what is in it");
  }
  return {breaches.begin(), breaches.end()};
}

Breaches check_machine_paths(const std::vector<SourceFile>& files) {
  // Put together here, so that this file does not hold what it looks for.
  const std::array<std::string, 2> roots = {std::string("/") + "work/", std::string("/") + "root/"};
  Breaches breaches;
  for (const SourceFile& file : files)
    for_each_line(file.text, [&](std::string_view line, std::size_t number) {
      for (const std::string& root : roots) {
        const std::size_t found = line.find(root);
        // "framework/root/x" is a relative path: only a path that starts there is meant.
        if (found != line.npos && (found == 0 || !is_identifier_character(line[found - 1])))
          breaches.push_back(at(file, number) + "'" + root + "' is a path of one machine");
      }
    });
  return breaches;
}

Breaches check_pragma_once(const std::vector<SourceFile>& files) {
  Breaches breaches;
  for (const SourceFile& file : files) {
    if (!is_header(file))
      continue;
    const std::string code = code_only(file.text);
    const std::size_t begin = code.find_first_not_of(" \t\r\n");
    if (begin == code.npos || !std::string_view(code).substr(begin).starts_with("#pragma once"))
      breaches.push_back(file.path + ":1: the header does not start with #pragma once");
  }
  return breaches;
}

Breaches check_vocabulary(const std::vector<SourceFile>& files) {
  Breaches breaches;
  for (const SourceFile& file : files)
    if (is_header(file)) {
      Breaches found = vocabulary_breaches(file);
      breaches.insert(breaches.end(), found.begin(), found.end());
    }
  return breaches;
}

Breaches check_oracles(const std::vector<SourceFile>& files) {
  std::set<std::string> paths;
  for (const SourceFile& file : files)
    paths.insert(file.path);
  Breaches breaches;
  for (const SourceFile& file : files) {
    const std::filesystem::path path(file.path);
    const std::string folder = path.parent_path().generic_string();
    if (path.extension() != ".cpp" || (folder != "operators/variants" && folder != "operators/layouts"))
      continue;
    const std::string oracle = "tests/oracle/" + path.stem().string();
    if (!paths.contains(oracle + ".cpp") && !paths.contains(oracle + "_test.cpp"))
      breaches.push_back(file.path + ": no " + oracle + ".cpp computes it by a second way");
  }
  return breaches;
}

} // namespace attnprof::tests::lint
