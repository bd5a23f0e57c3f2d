#include "cli/command_values.hpp"
#include "cli/completion.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_binary.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/unit/cli_commands.hpp"

#include <filesystem>
#include <fstream>

using namespace attnprof;
using Catch::Matchers::Contains;
using tests::command;

namespace {

std::string find_program(const std::string& name) {
  for (const char* folder : {"/usr/bin/", "/bin/", "/usr/local/bin/"}) {
    if (std::filesystem::exists(folder + name)) {
      return folder + name;
    }
  }
  return {};
}

/// What bash offers behind these words.
std::string offered_by_bash(const std::vector<std::string>& line) {
  const tests::TempDir folder;
  const std::filesystem::path script = folder.path() / "attnprof.bash";
  std::ofstream(script) << cli::completion_script("bash", cli::commands());
  std::string words;
  for (const std::string& word : line) {
    words += " '" + word + "'";
  }
  const std::string program = "source " + script.string() + "; COMP_WORDS=(" + words +
                              "); COMP_CWORD=" + std::to_string(line.size() - 1) +
                              "; _attnprof; printf '%s\\n' \"${COMPREPLY[@]}\"";
  const tests::RunResult result = tests::run_program(find_program("bash"), {"--norc", "-c", program}, {});
  CHECK(result.err.empty());
  CHECK(result.exit_code == 0);
  return "\n" + result.out;
}

} // namespace

TEST_CASE("completion: bash offers commands, the flags of a command and the values of a flag") {
  if (find_program("bash").empty()) {
    WARN("bash is not installed: its completion is not run");
    return;
  }
  CHECK_THAT(offered_by_bash({"attnprof", "co"}),
             Contains("\ncost\n") && Contains("\ncompare\n") && !Contains("sweep"));
  CHECK_THAT(offered_by_bash({"attnprof", "cost", "--va"}), Contains("\n--variant\n") && !Contains("--threshold"));
  CHECK_THAT(offered_by_bash({"attnprof", "compare", "--thr"}), Contains("\n--threshold\n"));
  CHECK_THAT(offered_by_bash({"attnprof", "cost", "--variant", "m"}), Contains("\nmha\n") && Contains("\nmqa\n"));
  CHECK_THAT(offered_by_bash({"attnprof", "run", "--cache", "cold"}), Contains("\ncold-kv\n") && !Contains("warm"));
  CHECK_THAT(offered_by_bash({"attnprof", "explain", "time_me"}), Contains("\ntime_median_s\n"));
  CHECK_THAT(offered_by_bash({"attnprof", "list", "var"}), Contains("\nvariants\n"));
}

TEST_CASE("completion: every command and flag is in every script, and shells that are here accept them") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = cli::completion_script(shell, cli::commands());
    for (const cli::Command& one : cli::commands()) {
      CHECK_THAT(script, Contains(one.name));
      for (const cli::OptionSpec& option : one.options) {
        INFO(shell << " " << one.name << " " << option.name);
        const std::string flag = shell == std::string("fish") ? "-l " + option.name.substr(2) : option.name;
        CHECK_THAT(script, Contains(flag));
      }
    }
    if (const std::string program = find_program(shell); !program.empty()) {
      const tests::TempDir folder;
      const std::filesystem::path file = folder.path() / "script";
      std::ofstream(file) << script;
      const tests::RunResult result = tests::run_program(program, {"-n", file.string()}, {});
      INFO(result.err);
      CHECK(result.exit_code == 0);
    }
  }
  CHECK_THROWS_WITH(cli::completion_script("fisch", cli::commands()), Contains("did you mean 'fish'"));
}

TEST_CASE("completion: values come from the registries") {
  const auto choices = [](const std::string& name, const std::string& flag) {
    for (const cli::OptionSpec& option : command(name).options) {
      if (option.name == flag) {
        return cli::choices_of(option);
      }
    }
    FAIL(flag);
    return cli::ValueChoices();
  };
  CHECK(choices("cost", "--dtype").names == std::vector<std::string>{"f32", "bf16", "f16"});
  CHECK(choices("compare", "--gate").names == std::vector<std::string>{"times", "counts"});
  CHECK(choices("compare", "--equal").names == std::vector<std::string>{"depth", "flops", "params", "latency"});
  CHECK(choices("report", "--csv").is_path);
  CHECK(choices("cost", "--dim").names.empty());
  CHECK(cli::positional_choices(command("list")).names.front() == "variants");
  CHECK(cli::positional_choices(command("completion")).names == std::vector<std::string>{"bash", "zsh", "fish"});
  CHECK(cli::positional_choices(command("report")).is_path);
}

TEST_CASE("manual: every command, flag and exit code, in roff that breaks no line") {
  const std::string page = cli::manual_page(cli::commands());
  CHECK_THAT(page, Catch::Matchers::StartsWith(".TH ATTNPROF 1"));
  for (const cli::Command& one : cli::commands()) {
    CHECK_THAT(page, Contains(".SS attnprof " + one.name));
  }
  for (const char* text : {"\\-\\-threshold", "\\-\\-seq\\-len", "EXIT STATUS", "128 + signal", "records.jsonl"}) {
    CHECK_THAT(page, Contains(text));
  }
  if (const std::string groff = find_program("groff"); !groff.empty()) {
    const tests::TempDir folder;
    std::ofstream(folder.path() / "attnprof.1") << page;
    const tests::RunResult result = tests::run_program(
        groff, {"-man", "-ww", "-Wbreak", "-z", "-Kutf8", (folder.path() / "attnprof.1").string()}, {});
    CHECK(result.exit_code == 0);
    CHECK(result.err.empty());
  }
}
