// Whether this process runs on a CI machine that it shares with strangers, so that its times mean little.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace attnprof::cli {

/// Reads an environment variable.
using Variable = std::function<std::optional<std::string>(const std::string& name)>;

/// What says so, for people: "GITHUB_ACTIONS is set"; absent elsewhere. A runner of one's own is not shared: on GitHub
/// RUNNER_ENVIRONMENT is then self-hosted, and ATTNPROF_RUNNER=dedicated says it for any service. Recognised are
/// GITHUB_ACTIONS, GITLAB_CI, CIRCLECI, TRAVIS, BUILDKITE, TF_BUILD, APPVEYOR, and CI, which most services set.
std::optional<std::string> shared_runner(const Variable& variable);

} // namespace attnprof::cli
