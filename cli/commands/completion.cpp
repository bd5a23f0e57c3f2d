#include "cli/completion.hpp"
#include "cli/commands/commands.hpp"
#include "cli/context.hpp"
#include "cli/exit_code.hpp"
#include "operators/core/error.hpp"

#include <fmt/format.h>
#include <ostream>

namespace attnprof::cli {
namespace {

int write_out(const Arguments& arguments, Context& context, const std::string& text) {
  if (const auto file = arguments.text("--output")) {
    context.seams.files->write(*file, text);
  } else {
    context.out << text;
  }
  return kExitOk;
}

int completion(const Arguments& arguments, Context& context) {
  if (arguments.positionals().size() != 1) {
    throw operators::Error(operators::ErrorKind::kUsage, "completion takes one shell: bash, zsh or fish");
  }
  return write_out(arguments, context, completion_script(arguments.positionals().front(), commands()));
}

int manual(const Arguments& arguments, Context& context) {
  return write_out(arguments, context, manual_page(commands()));
}

} // namespace

Command completion_command() {
  Command out;
  out.name = "completion";
  out.summary = "completion script of a shell";
  out.usage = "bash|zsh|fish [-o FILE]";
  out.positional = "shell";
  out.options = {{"--output", "-o", "FILE", "instead of standard output", OptionGroup::kOutput}};
  out.examples = {"completion bash -o ~/.local/share/bash-completion/completions/attnprof",
                  "completion fish -o ~/.config/fish/completions/attnprof.fish"};
  out.run = completion;
  return out;
}

Command manual_command() {
  Command out;
  out.name = "manual";
  out.summary = "the manual page, for man";
  out.usage = "[-o FILE]";
  out.options = {{"--output", "-o", "FILE", "instead of standard output", OptionGroup::kOutput}};
  out.examples = {"manual", "manual -o attnprof.1"};
  out.run = manual;
  return out;
}

} // namespace attnprof::cli
