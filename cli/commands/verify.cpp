#include "operators/exec/verify.hpp"
#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/exit_code.hpp"
#include "operators/core/error.hpp"
#include "operators/workload.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

using operators::Verification;

/// The executors of this host. Nobody asked for those that are absent; the last line names those that were checked.
std::vector<std::unique_ptr<operators::Executor>> executors(Context& context) {
  std::vector<std::unique_ptr<operators::Executor>> out;
  for (const char* device : {"cpu", "cuda"}) {
    try {
      out.push_back(context.seams.make_executor(device));
    } catch (const operators::Error& error) {
      if (error.kind() != operators::ErrorKind::kUnavailable) {
        throw;
      }
    }
  }
  return out;
}

class Tally {
 public:
  explicit Tally(std::ostream& out) : out_(out) {}

  void add(const Verification& one) {
    ++(one.passed ? passed_ : failed_);
    out_ << fmt::format("{} {}: {}\n", one.passed ? "PASS" : "FAIL", one.name, one.detail) << std::flush;
  }

  int finish(const std::vector<const operators::Executor*>& executors) {
    std::vector<std::string> names;
    for (const operators::Executor* executor : executors) {
      names.push_back(executor->name());
    }
    out_ << fmt::format("{} passed, {} failed, on {}\n", passed_, failed_, fmt::join(names, " and "));
    return failed_ == 0 ? kExitOk : kExitRowFailed;
  }

 private:
  std::ostream& out_;
  std::size_t passed_ = 0;
  std::size_t failed_ = 0;
};

int verify(const Arguments& arguments, Context& context) {
  const auto owned = executors(context);
  std::vector<const operators::Executor*> borrowed;
  for (const auto& executor : owned) {
    borrowed.push_back(executor.get());
  }
  Tally tally(context.out);
  for (const std::string& file : arguments.positionals()) {
    if (!std::filesystem::exists(file)) {
      throw operators::Error(operators::ErrorKind::kIo, fmt::format("golden file '{}' does not exist", file));
    }
  }
  for (const std::string& file : arguments.positionals()) {
    tally.add(operators::verify_golden(file, borrowed));
  }
  if (arguments.positionals().empty()) {
    for (const operators::Config& config : operators::sample_cases()) {
      tally.add(operators::verify_case(config, borrowed));
    }
  }
  return tally.finish(borrowed);
}

} // namespace

Command verify_command() {
  Command out;
  out.name = "verify";
  out.summary = "numerics: golden files, or without one every variant and layout against the float64 reference";
  out.usage = "[FILE.json...]";
  out.positional = "golden file";
  out.examples = {"verify", "verify tests/data/golden/mha.json"};
  out.run = verify;
  return out;
}

} // namespace attnprof::cli
