#pragma once

#include "cli/interrupt.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace attnprof::cli {

/// How a child process ended.
struct ChildResult {
  std::string out;   ///< its standard output
  int exit_code = 0; ///< 128 + signal where a signal ended it
  bool timed_out = false;
};

/// Runs a program and collects its standard output; its standard error is dropped. It is killed after `timeout_s`, and
/// an interrupt is passed on to it. Throws operators::Error(kInternal) where it cannot be started.
ChildResult run_child(const std::filesystem::path& program, const std::vector<std::string>& args, double timeout_s,
                      const Interrupt& interrupt);

} // namespace attnprof::cli
