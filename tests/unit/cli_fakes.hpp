// The outside world of the command line, made up.
#pragma once
#include "cli/context.hpp"
#include "operators/core/error.hpp"
#include "reports/files.hpp"
#include "tests/support/fake_clock.hpp"
#include "tests/support/fake_host.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace attnprof::tests {

/// Files in memory; folders named "readonly" cannot be made.
class FakeFolders final : public reports::Files {
 public:
  std::map<std::string, std::string> contents;
  std::set<std::string> folders;

  std::optional<std::string> read(const std::filesystem::path& path) override {
    const auto found = contents.find(path.string());
    return found == contents.end() ? std::nullopt : std::optional(found->second);
  }
  void write(const std::filesystem::path& path, std::string_view text) override { contents[path.string()] = text; }
  std::unique_ptr<reports::LineFile> open_lines(const std::filesystem::path& path, std::size_t keep_bytes) override {
    std::string& text = contents[path.string()];
    text.resize(keep_bytes);
    return std::make_unique<Lines>(text);
  }
  bool is_directory(const std::filesystem::path& path) override { return folders.contains(path.string()); }
  void make_directory(const std::filesystem::path& path) override {
    if (path.string() == "readonly") {
      throw operators::Error(operators::ErrorKind::kIo, "cannot create the folder readonly");
    }
    folders.insert(path.string());
  }

 private:
  struct Lines final : reports::LineFile {
    explicit Lines(std::string& target) : text(target) {}
    void append(std::string_view line) override { text += std::string(line) + "\n"; }
    std::string& text;
  };
};

} // namespace attnprof::tests
