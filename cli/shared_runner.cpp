#include "cli/shared_runner.hpp"

#include <fmt/format.h>

namespace attnprof::cli {
namespace {

constexpr const char* kServices[] = {"GITHUB_ACTIONS", "GITLAB_CI", "CIRCLECI", "TRAVIS",
                                     "BUILDKITE",      "TF_BUILD",  "APPVEYOR", "CI"};

} // namespace

std::optional<std::string> shared_runner(const Variable& variable) {
  if (!variable || variable("ATTNPROF_RUNNER") == "dedicated" || variable("RUNNER_ENVIRONMENT") == "self-hosted") {
    return std::nullopt;
  }
  for (const char* name : kServices) {
    const std::optional<std::string> value = variable(name);
    if (value && !value->empty() && *value != "false" && *value != "0") {
      return fmt::format("{} is set", name);
    }
  }
  return std::nullopt;
}

} // namespace attnprof::cli
