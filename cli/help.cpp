// --help, made from the same tables as the parser.
#include "cli/command.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::cli {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kIndent = 2;
constexpr std::size_t kGap = 2;
constexpr std::size_t kHalf = (kColumns - kIndent) / 2;

std::string_view title_of(OptionGroup group) {
  switch (group) {
  case OptionGroup::kWorkload:
    return "workload (a value, a list 1,2,4 or a range 128:4096:*2, 1:64:4; k = 1024; lists span a grid)";
  case OptionGroup::kSelection: return "selecting and surviving";
  case OptionGroup::kMeasuring: return "measuring (times: 10ms, 0.5, 90s, 5m)";
  case OptionGroup::kOutput: return "output";
  case OptionGroup::kGate: return "gates";
  }
  return {};
}

std::string flags_of(const OptionSpec& option) {
  std::string out = option.short_name.empty() ? option.name : option.short_name + " " + option.name;
  // Workload flags all take values as the title says; naming them again would cost a second screen.
  if (!option.value.empty() && option.group != OptionGroup::kWorkload) {
    out += " " + option.value;
  }
  return out;
}

/// Two entries to a line where they fit, the second at the middle or behind a longer first one.
std::string two_columns(const std::vector<const OptionSpec*>& options) {
  std::size_t width = 0;
  for (const OptionSpec* option : options) {
    width = std::max(width, flags_of(*option).size());
  }
  std::string out;
  std::string left;
  for (const OptionSpec* option : options) {
    std::string entry = fmt::format("{:{}} {}", flags_of(*option), width, option->help);
    const std::size_t second_at = std::max(kHalf, left.size() + kGap);
    if (!left.empty() && kIndent + second_at + entry.size() <= kColumns) {
      out += fmt::format("{:{}}{:{}}{}\n", "", kIndent, left, second_at, entry);
      left.clear();
      continue;
    }
    if (!left.empty()) {
      out += fmt::format("{:{}}{}\n", "", kIndent, left);
    }
    left = std::move(entry);
  }
  return left.empty() ? out : out + fmt::format("{:{}}{}\n", "", kIndent, left);
}

/// Flags that single variants add: there may be any number of them, and the screen is full.
std::string brief_lines(const std::vector<const OptionSpec*>& options) {
  std::string out;
  std::string line = "and for single workloads, explained in the README and by list --json:";
  for (const OptionSpec* option : options) {
    if (kIndent + line.size() + 1 + option->name.size() > kColumns) {
      out += fmt::format("{:{}}{}\n", "", kIndent, line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + option->name;
  }
  return options.empty() ? out : out + fmt::format("{:{}}{}\n", "", kIndent, line);
}

std::string examples_of(const std::vector<std::string>& examples) {
  std::string out = "examples:\n";
  for (const std::string& example : examples) {
    out += fmt::format("  attnprof {}\n", example);
  }
  return out;
}

} // namespace

std::string help_text(const Command& command) {
  std::string out =
      fmt::format("{}\n{}usage: attnprof {} {}\n", command.summary, command.details, command.name, command.usage);
  for (const OptionGroup group : {OptionGroup::kWorkload, OptionGroup::kSelection, OptionGroup::kMeasuring,
                                  OptionGroup::kOutput, OptionGroup::kGate}) {
    std::vector<const OptionSpec*> members;
    std::vector<const OptionSpec*> brief;
    for (const OptionSpec& option : command.options) {
      if (option.group == group) {
        (option.brief ? brief : members).push_back(&option);
      }
    }
    if (!members.empty()) {
      out += fmt::format("{}:\n{}{}", title_of(group), two_columns(members), brief_lines(brief));
    }
  }
  return out + examples_of(command.examples);
}

std::string help_text(const std::vector<Command>& all) {
  std::string out =
      "attnprof: where the time of attention variants and block layouts goes, what bounds it, and whether\n"
      "fewer FLOPs are faster on this machine\n\n"
      "usage: attnprof COMMAND [FLAGS]; attnprof COMMAND --help lists the flags of a command\n\n";
  for (const Command& command : all) {
    out += fmt::format("  {:10} {}\n", command.name, command.summary);
  }
  out += "\n  --version  version, commit and build of this program\n\n"
         "exit codes: 0 ok, 1 internal error, 2 usage, 3 regression, 4 a row failed or was incorrect,\n"
         "  5 a row is missing, 6 inconclusive, 7 requested device or counter absent,\n"
         "  128 + the number of the signal after an interrupt (130 after Ctrl-C)\n\n";
  return out + examples_of({"sweep", "cost --variant mha,gqa --seq-len 1k:16k:*2 --dim 4096 --heads 32 --kv-heads 8"});
}

} // namespace attnprof::cli
