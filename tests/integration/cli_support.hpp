// Running the binary as its users do, for the integration tests of the command line.
#pragma once
#include "tests/support/catch.hpp"
#include "tests/support/run_binary.hpp"
#include "tests/support/temp_dir.hpp"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace attnprof::tests {

/// A folder of its own as working directory, and measured ceilings that are shared between runs of the tests.
class Workplace {
 public:
  Workplace();
  /// Words separated by blanks; what stands between single quotes is one word.
  RunResult run(const std::string& line) const;
  /// With other environment variables; nullopt removes one.
  RunResult run(const std::string& line, const std::map<std::string, std::optional<std::string>>& variables) const;
  RunResult run(const std::vector<std::string>& args) const;
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string text(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> lines(const std::string& name) const;
  /// records.jsonl of a run folder.
  [[nodiscard]] std::vector<nlohmann::json> records(const std::string& folder) const;
  [[nodiscard]] const RunOptions& options() const { return options_; }

 private:
  TempDir folder_;
  RunOptions options_;
};

std::vector<std::string> words(const std::string& line);
bool has(const std::string& text, const std::string& part);
/// Rows of an RFC 4180 file by column name.
std::vector<std::map<std::string, std::string>> csv_rows(const std::string& text);

/// A sweep of six small cases that takes about a second.
inline const std::string kSmallSweep =
    "sweep --variant mha,gqa,cga --grid 4x4,5x5 --dim 16 --heads 2 --plan eager --min-time 5ms --timeout 0.1";

} // namespace attnprof::tests
