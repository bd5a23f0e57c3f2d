// docs/tutorial.md, followed word for word; and every command line that the documents show is one that exists.
#include "cli/command.hpp"
#include "cli/history_file.hpp"
#include "operators/core/error.hpp"
#include "tests/integration/cli_support.hpp"
#include "tests/support/paths.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

using namespace attnprof;
using namespace attnprof::tests;

namespace {

std::string document(const std::string& name) {
  std::ifstream stream(source_dir() / name, std::ios::binary);
  INFO(name);
  REQUIRE(stream);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The blocks between ```sh and ```.
std::vector<std::string> shell_blocks(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = line == "```sh";
      if (inside) {
        out.emplace_back();
      }
    } else if (inside) {
      out.back() += line + "\n";
    }
  }
  return out;
}

/// Calls of attnprof in a script: the words up to a redirection, a pipe or a comment.
std::vector<std::vector<std::string>> calls_in(const std::string& script) {
  std::string joined;
  for (std::size_t i = 0; i < script.size(); ++i) {
    if (script.compare(i, 2, "\\\n") == 0) {
      ++i;
    } else {
      joined += script[i] == '"' ? '\'' : script[i];
    }
  }
  std::vector<std::vector<std::string>> out;
  std::istringstream lines(joined);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("attnprof ");
    const bool begins = at == 0 || line.compare(0, at, "scripts/") == 0 || line.find("&& scripts/attnprof ") < at;
    if (at == std::string::npos || !begins) {
      continue;
    }
    std::vector<std::string> call;
    line = line.substr(0, line.find(')')); // the end of a subshell
    for (const std::string& word : words(line.substr(at + 9))) {
      if (word == ">" || word == "|" || word == "||" || word == "&&" || word == "#") {
        break;
      }
      call.push_back(word);
    }
    out.push_back(call);
  }
  return out;
}

void check_call(const std::vector<std::string>& call) {
  std::string line = "attnprof";
  for (const std::string& word : call) {
    line += " " + word;
  }
  INFO(line);
  REQUIRE_FALSE(call.empty());
  if (call.front().starts_with("-") || call.front() == "COMMAND") {
    return;
  }
  const auto& all = cli::commands();
  const auto command =
      std::find_if(all.begin(), all.end(), [&](const cli::Command& one) { return one.name == call.front(); });
  REQUIRE(command != all.end());
  CHECK_NOTHROW(cli::parse_command(*command, {call.begin() + 1, call.end()}));
}

} // namespace

TEST_CASE("tutorial: every command works as it stands") {
  const Workplace place;
  std::filesystem::create_directories(place.file("scripts"));
  std::filesystem::create_symlink(binary(), place.file("scripts") / "attnprof");
  std::string script = "set -eu\nshopt -s expand_aliases\n";
  for (const std::string& block : shell_blocks(document("docs/tutorial.md"))) {
    if (cli::has_history() || !has(block, "history")) {
      script += block;
    }
  }
  std::ofstream(place.file("tutorial.sh")) << script;
  const RunResult result = run_program("/bin/bash", {"tutorial.sh"}, place.options());
  INFO(result.out);
  INFO(result.err);
  CHECK(result.exit_code == 0);
  if (cli::has_history()) {
    CHECK(has(result.out, "run 2: 6 cases of after"));
    CHECK(std::filesystem::exists(place.file("history.db")));
    const std::string page = place.text("report.html");
    CHECK(has(page, "\"history\":[{\"id\":"));
    CHECK(has(page, "\"verdict\":\"TOO FEW\""));
  }
  for (const char* text : {"for equal flops", "efficiency", "verdict", "MISSING", "\n5\n"}) {
    INFO(text);
    CHECK(has(result.out, text));
  }
  for (const char* file : {"trace.json", "before/report.html", "cases.csv", "gbench.json", "pull-request.md"}) {
    INFO(file);
    CHECK(std::filesystem::exists(place.file(file)));
  }
}

TEST_CASE("documents: every call of attnprof that they show can be parsed") {
  std::size_t count = 0;
  for (const char* name : {"README.md", "docs/tutorial.md", "docs/ci.md", "docs/comparison.md"}) {
    for (const std::string& block : shell_blocks(document(name))) {
      for (const std::vector<std::string>& call : calls_in(block)) {
        check_call(call);
        ++count;
      }
    }
  }
  CHECK(count > 30);
}

TEST_CASE("documents: the calls of the hosted job can be parsed, and the job does what it says") {
  std::string job = document(".github/workflows/attnprof.yml");
  const std::string cases = "--variant mha,gqa,cga --layout op,standard,sandwich";
  CHECK(has(job, "CASES: " + cases));
  for (std::size_t at = job.find("$CASES"); at != std::string::npos; at = job.find("$CASES")) {
    job.replace(at, 6, cases);
  }
  std::string lines;
  std::istringstream stream(job);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    line = begin == std::string::npos ? "" : line.substr(begin);
    lines += (line.starts_with("run: ") ? line.substr(5) : line) + "\n";
  }
  const auto calls = calls_in(lines);
  CHECK(calls.size() == 4);
  for (const std::vector<std::string>& call : calls) {
    check_call(call);
  }
  for (const char* part : {"actions/cache", "--gate counts", "--ci", "report.html", "upload-artifact"}) {
    CHECK(has(job, part));
  }
}
