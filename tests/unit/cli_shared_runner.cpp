#include "cli/likeness.hpp"
#include "cli/shared_runner.hpp"
#include "tests/support/catch.hpp"

#include <map>

using namespace attnprof;

namespace {

std::optional<std::string> runner(const std::map<std::string, std::string>& variables) {
  return cli::shared_runner([&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

reports::ResultSet run_on(const std::string& cpu, const std::string& compiler, const std::string& version) {
  reports::ResultSet out;
  out.machine.emplace();
  out.machine->environment.cpu_model = cpu;
  out.machine->environment.compiler = compiler;
  out.machine->environment.version = version;
  return out;
}

} // namespace

TEST_CASE("shared runner: services are recognised, machines of one's own are not shared") {
  CHECK(runner({{"CI", "true"}}) == "CI is set");
  CHECK(runner({{"GITHUB_ACTIONS", "true"}, {"CI", "true"}}) == "GITHUB_ACTIONS is set");
  CHECK(runner({{"GITLAB_CI", "true"}}) == "GITLAB_CI is set");
  CHECK_FALSE(runner({}));
  CHECK_FALSE(runner({{"CI", "false"}}));
  CHECK_FALSE(runner({{"CI", ""}}));
  CHECK_FALSE(runner({{"CI", "true"}, {"RUNNER_ENVIRONMENT", "self-hosted"}}));
  CHECK_FALSE(runner({{"CI", "true"}, {"ATTNPROF_RUNNER", "dedicated"}}));
  CHECK_FALSE(cli::shared_runner({}));
}

TEST_CASE("likeness: processors and compilers tell runs apart, versions of this program do not") {
  const reports::ResultSet base = run_on("Zen", "g++ 12", "1.0");
  CHECK(cli::differences(base, run_on("Zen", "g++ 12", "2.0")).empty());
  CHECK(cli::differences(base, run_on("Ice Lake", "g++ 12", "1.0")) ==
        std::vector<std::string>{"processor: Zen / Ice Lake"});
  CHECK(cli::differences(base, run_on("Zen", "clang 14", "1.0")) ==
        std::vector<std::string>{"compiler: g++ 12 / clang 14"});
  reports::ResultSet a;
  reports::ResultSet b;
  CHECK(cli::differences(a, b).empty()); // nothing is known
  a.records.resize(1);
  a.records[0].measured.emplace();
  a.records[0].machine_fingerprint = "one";
  b.records = a.records;
  CHECK(cli::differences(a, b).empty());
  b.records[0].machine_fingerprint = "two";
  CHECK(cli::differences(a, b).size() == 1);
}
