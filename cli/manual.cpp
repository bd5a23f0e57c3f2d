// attnprof(1), from the tables that --help is made from.
#include "attnprof_version.hpp"
#include "cli/completion.hpp"

#include <fmt/format.h>

namespace attnprof::cli {
namespace {

/// A dash is a minus in names of flags, and a line must not begin as a request does.
std::string roff(std::string_view text) {
  std::string out;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) {
      out += "\\&";
    }
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    at_line_start = c == '\n';
  }
  return out;
}

std::string option_entry(const OptionSpec& option) {
  std::string flags = option.short_name.empty() ? "" : fmt::format("\\fB{}\\fR, ", roff(option.short_name));
  flags += fmt::format("\\fB{}\\fR", roff(option.name));
  if (!option.value.empty()) {
    flags += fmt::format(" \\fI{}\\fR", roff(option.value));
  }
  return fmt::format(".TP\n{}\n{}\n", flags, roff(option.help.empty() ? "see attnprof list" : option.help));
}

std::string command_section(const Command& command) {
  std::string out = fmt::format(".SS attnprof {}\n{}.\n", roff(command.name), roff(command.summary));
  if (!command.details.empty()) {
    out += ".PP\n" + roff(command.details);
  }
  out += fmt::format(".PP\n\\fBattnprof {}\\fR {}\n", roff(command.name), roff(command.usage));
  bool takes_workload = false;
  for (const OptionSpec& option : command.options) {
    takes_workload = takes_workload || option.group == OptionGroup::kWorkload;
    if (option.group != OptionGroup::kWorkload) {
      out += option_entry(option);
    }
  }
  if (takes_workload) {
    out += ".PP\nand the workload flags below.\n";
  }
  for (const std::string& example : command.examples) {
    out += fmt::format(".PP\n.nf\n    attnprof {}\n.fi\n", roff(example));
  }
  return out;
}

std::string workload_section(const std::vector<Command>& all) {
  std::string out = ".SH WORKLOAD FLAGS\nEach takes a value, a comma list or a range 128:4096:*2, 1:64:4; k is 1024. "
                    "Lists span a grid of cases.\n";
  for (const Command& command : all) {
    if (command.name != "cost") {
      continue;
    }
    for (const OptionSpec& option : command.options) {
      if (option.group == OptionGroup::kWorkload) {
        out += option_entry(option);
      }
    }
  }
  return out;
}

} // namespace

std::string manual_page(const std::vector<Command>& all) {
  std::string out = fmt::format(
      ".TH ATTNPROF 1 \"\" \"attnprof {}\" \"User commands\"\n"
      ".SH NAME\nattnprof \\- profile and roofline attention variants and transformer block layouts\n"
      ".SH SYNOPSIS\n\\fBattnprof\\fR \\fICOMMAND\\fR [\\fIFLAGS\\fR]\n"
      ".SH DESCRIPTION\n"
      "Counts the work of each variant and layout exactly, runs them on the CPU and on a GPU where there is one, and "
      "says for every kernel what bounds it on this machine.\n"
      ".SH COMMANDS\n",
      roff(std::string(kVersion)));
  for (const Command& command : all) {
    out += command_section(command);
  }
  out += workload_section(all);
  const std::pair<const char*, const char*> codes[] = {
      {"0", "ok"},
      {"1", "internal error"},
      {"2", "usage: a flag, a value, a path, an empty selection, a single case that is invalid"},
      {"3", "a gate found a regression"},
      {"4", "a row failed or was incorrect"},
      {"5", "a row is missing"},
      {"6", "inconclusive, with --fail-on inconclusive"},
      {"7", "the requested device or counter is absent"},
      {"128 + signal", "interrupted"}};
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : codes) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", code, roff(meaning));
  }
  out += ".SH FILES\n.TP\n\\fIrecords.jsonl\\fR\nthe record of a run: one line a case; everything else is made from "
         "it\n.TP\n\\fI~/.cache/attnprof\\fR\nmeasured ceilings of this machine; XDG_CACHE_HOME moves it\n"
         ".SH ENVIRONMENT\n.TP\n\\fBCI\\fR, \\fBGITHUB_ACTIONS\\fR and the like\nsay that the machine is shared: "
         "compare then compares counts unless times are asked for\n.TP\n\\fBATTNPROF_RUNNER\\fR\n"
         "dedicated: the CI machine is one's own, so times are compared\n";
  return out;
}

} // namespace attnprof::cli
