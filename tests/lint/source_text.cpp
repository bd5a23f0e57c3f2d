#include "tests/lint/rules.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace attnprof::tests::lint {
namespace {

namespace fs = std::filesystem;

constexpr std::array kFolders = {"bench",     "cli",     "cmake",   "docs",  "operators",
                                 "profilers", "reports", "scripts", "tests", ".ci"};

SourceFile read(const fs::path& root, const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw std::runtime_error("cannot read " + file.string());
  return {fs::relative(file, root).generic_string(), {std::istreambuf_iterator<char>(stream), {}}};
}

/// The end of the literal that starts at `begin`, one past its closing quote; a raw string ends at its own delimiter.
std::size_t literal_end(std::string_view source, std::size_t begin) {
  const char quote = source[begin];
  if (quote == '"' && begin > 0 && source[begin - 1] == 'R') {
    const std::size_t open = source.find('(', begin);
    if (open == source.npos)
      return source.size();
    const std::string closing = ")" + std::string(source.substr(begin + 1, open - begin - 1)) + "\"";
    const std::size_t end = source.find(closing, open);
    return end == source.npos ? source.size() : end + closing.size();
  }
  for (std::size_t at = begin + 1; at < source.size(); ++at) {
    if (source[at] == '\\')
      ++at;
    else if (source[at] == quote || source[at] == '\n')
      return at + 1;
  }
  return source.size();
}

/// The end of the comment that starts at `begin`, or `begin` where none does.
std::size_t comment_end(std::string_view source, std::size_t begin) {
  if (source.substr(begin, 2) == "//")
    return std::min(source.find('\n', begin), source.size());
  if (source.substr(begin, 2) != "/*")
    return begin;
  const std::size_t end = source.find("*/", begin + 2);
  return end == source.npos ? source.size() : end + 2;
}

bool is_digit_separator(std::string_view source, std::size_t at) {
  return source[at] == '\'' && at > 0 && std::isxdigit(static_cast<unsigned char>(source[at - 1])) != 0;
}

} // namespace

std::vector<SourceFile> read_source_tree(const fs::path& root) {
  std::vector<SourceFile> files;
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.is_regular_file() && entry.path().filename() != ".git") // a worktree's pointer to its repository
      files.push_back(read(root, entry.path()));
  for (const char* folder : kFolders) {
    if (!fs::is_directory(root / folder))
      continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file())
        files.push_back(read(root, entry.path()));
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

std::string code_only(std::string_view source) {
  std::string result(source);
  const auto blank = [&result](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at)
      if (result[at] != '\n')
        result[at] = ' ';
  };
  for (std::size_t at = 0; at < source.size();) {
    if (const std::size_t end = comment_end(source, at); end > at) {
      blank(at, end);
      at = end;
    } else if (source[at] == '"' || (source[at] == '\'' && !is_digit_separator(source, at))) {
      const std::size_t after = literal_end(source, at);
      blank(at + 1, after > at + 1 ? after - 1 : after);
      at = after;
    } else {
      ++at;
    }
  }
  return result;
}

} // namespace attnprof::tests::lint
