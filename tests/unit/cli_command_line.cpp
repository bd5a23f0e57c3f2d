#include "cli/command.hpp"
#include "operators/core/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/unit/cli_commands.hpp"

#include <fstream>
#include <sstream>

using namespace attnprof;
using cli::Command;
using cli::commands;
using tests::command;

namespace {

cli::Arguments parse(const std::string& name, const std::vector<std::string>& args) {
  return cli::parse_command(command(name), args).arguments;
}

std::string parse_refusal(const std::string& name, const std::vector<std::string>& args) {
  try {
    parse(name, args);
  } catch (const operators::Error& error) {
    CHECK(error.kind() == operators::ErrorKind::kUsage);
    const std::string sentence = error.what();
    CHECK(sentence.find('\n') == std::string::npos);
    return sentence;
  }
  FAIL("accepted");
  return {};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("command line: values, lists, repeated flags and ids") {
  const cli::Arguments arguments =
      parse("cost", {"--variant", "mha,gqa", "--seq-len=64", "--seq-len", "128", "variant=mha:dim=64", "--json"});
  CHECK(arguments.text("--variant") == "mha,gqa");
  CHECK(arguments.all("--seq-len") == Texts{"64", "128"});
  CHECK(arguments.positionals() == Texts{"variant=mha:dim=64"});
  CHECK(arguments.given("--json"));
  CHECK_FALSE(arguments.given("--where"));
  CHECK(arguments.text("--where") == std::nullopt);
}

TEST_CASE("command line: a truth flag stands alone or takes values, and leaves the next argument alone") {
  CHECK(parse("cost", {"--causal", "variant=mha"}).text("--causal") == "true");
  CHECK(parse("cost", {"--causal", "variant=mha"}).positionals() == Texts{"variant=mha"});
  CHECK(parse("cost", {"--causal", "--variant", "mha"}).text("--causal") == "true");
  CHECK(parse("cost", {"--causal", "true,false"}).text("--causal") == "true,false");
  CHECK(parse("cost", {"--causal=false"}).text("--causal") == "false");
  CHECK(parse("cost", {"--variant", "mha", "--causal"}).text("--causal") == "true");
}

TEST_CASE("command line: negative values reach the parameter's own check") {
  CHECK(parse("cost", {"--seq-len", "-5"}).text("--seq-len") == "-5");
}

TEST_CASE("command line: a misspelt flag is refused with the nearest one (BUG-076)") {
  CHECK(has(parse_refusal("cost", {"--variant", "mha", "--seq-lem", "5"}), "--seq-lem"));
  CHECK(has(parse_refusal("cost", {"--variant", "mha", "--seq-lem", "5"}), "did you mean --seq-len?"));
  CHECK(has(parse_refusal("sweep", {"--seqlen", "512"}), "did you mean --seq-len?"));
  CHECK(has(parse_refusal("sweep", {"--repeets", "3"}), "did you mean --repetitions?"));
  CHECK(has(parse_refusal("sweep", {"--seqlen=512"}), "--seqlen is not"));
  CHECK(has(parse_refusal("sweep", {"-z"}), "-z"));
  CHECK(has(parse_refusal("cost", {"--resume"}), "sweep")); // another command's flag
}

TEST_CASE("command line: missing, doubled and superfluous arguments name the flag") {
  CHECK(has(parse_refusal("cost", {"--seq-len"}), "--seq-len needs a value"));
  CHECK(has(parse_refusal("doctor", {"surplus"}), "surplus"));
  const cli::Arguments twice = parse("sweep", {"-o", "a", "--output", "b"});
  try {
    static_cast<void>(twice.text("--output"));
    FAIL("accepted two folders");
  } catch (const operators::Error& error) {
    CHECK(has(error.what(), "--output"));
    CHECK(has(error.what(), "'a' and 'b'"));
  }
}

TEST_CASE("command line: a configuration file holds any flag, and the command line wins") {
  const tests::TempDir folder;
  const std::string path = (folder / "sweep.toml").string();
  std::ofstream(path) << "# what we run every night\nvariant = [\"mha\", \"gqa\"]\nseq_len = \"64:256:*2\"\n"
                         "kv-heads = 2\ncausal = true\nskip = [\"3-8\", \"3,5\"]\nresume = true\n"
                         "where = \"kv_heads<=heads && dim%heads==0\"\nmin-time = 0.5\n";
  const cli::Arguments arguments = parse("sweep", {"--config", path, "--min-time", "2"});
  CHECK(arguments.all("--variant") == Texts{"mha", "gqa"});
  CHECK(arguments.text("--seq-len") == "64:256:*2");
  CHECK(arguments.text("--kv-heads") == "2");
  CHECK(arguments.text("--causal") == "true");
  CHECK(arguments.all("--skip") == Texts{"3-8", "3,5"});
  CHECK(arguments.text("--where") == "kv_heads<=heads && dim%heads==0");
  CHECK(arguments.text("--min-time") == "2");
  CHECK(arguments.given("--resume"));

  std::ofstream(path) << "seq-lem = 5\n";
  CHECK(has(parse_refusal("sweep", {"--config", path}), "seq-lem"));
  CHECK(has(parse_refusal("sweep", {"--config", path}), "seq-len"));
  CHECK(has(parse_refusal("sweep", {"--config", "nowhere.toml"}), "nowhere.toml"));
}

TEST_CASE("help: every command fits one screen and ends with two examples") {
  for (const Command& one : commands()) {
    INFO(one.name);
    const std::string text = cli::help_text(one);
    std::istringstream lines(text);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      INFO(line);
      CHECK(line.size() <= 100);
    }
    CHECK(count <= 50);
    REQUIRE(one.examples.size() == 2);
    CHECK(text.ends_with("examples:\n  attnprof " + one.examples[0] + "\n  attnprof " + one.examples[1] + "\n"));
    CHECK(has(text, "usage: attnprof " + one.name));
    CHECK(has(cli::help_text(commands()), "  " + one.name + " "));
    CHECK(cli::parse_command(one, {"--help"}).help);
    CHECK(cli::parse_command(one, {"-h"}).help);
  }
}

TEST_CASE("help: every flag is named, and flags of single variants take no line each") {
  for (const Command& one : commands()) {
    const std::string text = cli::help_text(one);
    for (const cli::OptionSpec& option : one.options) {
      INFO(one.name << " " << option.name);
      CHECK(has(text, option.name));
      CHECK(has(text, option.help) != option.brief);
    }
  }
}

TEST_CASE("help: examples are command lines that parse") {
  for (const Command& one : commands()) {
    for (const std::string& example : one.examples) {
      INFO(example);
      std::istringstream words(example);
      Texts args;
      for (std::string word; words >> word;) {
        word.erase(std::remove(word.begin(), word.end(), '"'), word.end());
        args.push_back(word);
      }
      REQUIRE(args.size() >= 1);
      CHECK(args[0] == one.name);
      CHECK_NOTHROW(parse(one.name, {args.begin() + 1, args.end()}));
    }
  }
}
