#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::tests {

struct RunOptions {
  /// Laid over this process's environment; nullopt removes the variable.
  std::map<std::string, std::optional<std::string>> environment;
  /// Empty: this process's working directory.
  std::filesystem::path working_directory;
  std::string standard_input;
  /// A run that takes longer is killed and reported as an exception. Generous: it is there against hangs only.
  std::chrono::seconds timeout{300};
};

struct RunResult {
  int exit_code; ///< 128 + signal number when a signal ended the program, as a shell reports it.
  std::string out;
  std::string err;
};

/// Runs a program and waits for it.
/// Throws std::system_error when it cannot be started and std::runtime_error when the timeout passes.
RunResult run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                      const RunOptions& options = {});

/// Runs the attnprof binary of this build.
RunResult run_binary(const std::vector<std::string>& arguments, const RunOptions& options = {});

} // namespace attnprof::tests
