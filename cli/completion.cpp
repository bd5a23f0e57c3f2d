#include "cli/completion.hpp"

#include "cli/command_values.hpp"
#include "operators/core/error.hpp"
#include "operators/core/registry.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace attnprof::cli {
namespace {

std::string joined_words(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::vector<std::string> names_of(const std::vector<Command>& all) {
  std::vector<std::string> out;
  for (const Command& command : all) {
    out.push_back(command.name);
  }
  return out;
}

/// A word inside single quotes of a POSIX shell.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

std::string bash_script(const std::vector<Command>& all) {
  // Flags of the same name mean the same in every command, so that one case serves all.
  std::map<std::string, ValueChoices> values;
  std::string flags;
  std::string arguments;
  for (const Command& command : all) {
    std::vector<std::string> names;
    for (const OptionSpec& option : command.options) {
      names.push_back(option.name);
      if (!option.value.empty()) {
        values[option.name] = choices_of(option);
        if (!option.short_name.empty()) {
          values[option.short_name] = choices_of(option);
        }
      }
    }
    names.emplace_back("--help");
    flags += fmt::format("    {}) flags={} ;;\n", command.name, shell_quoted(joined_words(names)));
    const ValueChoices choices = positional_choices(command);
    if (!choices.names.empty()) {
      arguments += fmt::format("    {}) COMPREPLY=($(compgen -W {} -- \"$word\")); return ;;\n", command.name,
                               shell_quoted(joined_words(choices.names)));
    }
  }
  std::string cases;
  for (const auto& [name, choices] : values) {
    const std::string reply =
        choices.is_path ? std::string("$(compgen -f -- \"$word\")")
                        : fmt::format("$(compgen -W {} -- \"$word\")", shell_quoted(joined_words(choices.names)));
    cases += fmt::format("    {}) COMPREPLY=({}); return ;;\n", name, reply);
  }
  return fmt::format("# bash completion of attnprof; made by `attnprof completion bash`\n"
                     "_attnprof() {{\n"
                     "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} flags=''\n"
                     "  COMPREPLY=()\n"
                     "  if ((COMP_CWORD == 1)); then\n"
                     "    COMPREPLY=($(compgen -W {} -- \"$word\"))\n"
                     "    return\n"
                     "  fi\n"
                     "  case $before in\n{}  esac\n"
                     "  case ${{COMP_WORDS[1]}} in\n{}  esac\n"
                     "  if [[ $word == -* ]]; then\n"
                     "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
                     "    return\n"
                     "  fi\n"
                     "  case ${{COMP_WORDS[1]}} in\n{}  esac\n"
                     "  COMPREPLY=($(compgen -f -- \"$word\"))\n"
                     "}}\n"
                     "complete -o filenames -F _attnprof attnprof\n",
                     shell_quoted(joined_words(names_of(all)) + " help --help --version"), cases, flags, arguments);
}

/// Text between brackets or colons of an _arguments specification.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '[' || c == ']' || c == ':' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return out;
}

std::string zsh_action(const ValueChoices& choices) {
  // A blank completes nothing.
  return choices.is_path ? "_files" : choices.names.empty() ? " " : fmt::format("({})", joined_words(choices.names));
}

std::string zsh_script(const std::vector<Command>& all) {
  std::string names;
  std::string cases;
  for (const Command& command : all) {
    names += fmt::format("    {}\n", shell_quoted(fmt::format("{}:{}", command.name, zsh_text(command.summary))));
    cases += fmt::format("    {})\n      _arguments", command.name);
    for (const OptionSpec& option : command.options) {
      const std::string repeats = option.repeats ? "*" : "";
      const std::string value =
          option.value.empty() ? "" : fmt::format(":{}:{}", zsh_text(option.value), zsh_action(choices_of(option)));
      cases +=
          " \\\n        " + shell_quoted(fmt::format("{}{}[{}]{}", repeats, option.name, zsh_text(option.help), value));
      if (!option.short_name.empty()) {
        cases += " \\\n        " +
                 shell_quoted(fmt::format("{}{}[{}]{}", repeats, option.short_name, zsh_text(option.help), value));
      }
    }
    if (!command.positional.empty()) {
      cases += " \\\n        " + shell_quoted(fmt::format("*:{}:{}", zsh_text(command.positional),
                                                          zsh_action(positional_choices(command))));
    }
    cases += " \\\n        '--help[flags of this command]'\n      ;;\n";
  }
  return fmt::format("#compdef attnprof\n# zsh completion of attnprof; made by `attnprof completion zsh`\n"
                     "_attnprof() {{\n"
                     "  local -a commands\n"
                     "  commands=(\n{}  )\n"
                     "  if ((CURRENT == 2)); then\n"
                     "    _describe command commands\n"
                     "    return\n"
                     "  fi\n"
                     "  local command=$words[2]\n"
                     "  shift words\n"
                     "  ((CURRENT--))\n"
                     "  case $command in\n{}  esac\n"
                     "}}\n"
                     "_attnprof \"$@\"\n",
                     names, cases);
}

/// Inside single quotes of fish, which knows \\ and \' there.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return out + "'";
}

std::string fish_values(const ValueChoices& choices) {
  if (choices.is_path) {
    return " -r -F";
  }
  return choices.names.empty() ? " -x" : fmt::format(" -x -a {}", fish_quoted(joined_words(choices.names)));
}

std::string fish_script(const std::vector<Command>& all) {
  std::string out = "# fish completion of attnprof; made by `attnprof completion fish`\n";
  for (const Command& command : all) {
    out += fmt::format("complete -c attnprof -f -n __fish_use_subcommand -a {} -d {}\n", command.name,
                       fish_quoted(command.summary));
  }
  for (const Command& command : all) {
    const std::string when =
        fmt::format("complete -c attnprof -n {}", fish_quoted("__fish_seen_subcommand_from " + command.name));
    for (const OptionSpec& option : command.options) {
      out += fmt::format("{} -l {}{}{} -d {}\n", when, option.name.substr(2),
                         option.short_name.empty() ? "" : fmt::format(" -s {}", option.short_name.substr(1)),
                         option.value.empty() ? "" : fish_values(choices_of(option)), fish_quoted(option.help));
    }
    const ValueChoices choices = positional_choices(command);
    if (!choices.names.empty()) {
      out += fmt::format("{} -f -a {}\n", when, fish_quoted(joined_words(choices.names)));
    }
  }
  return out;
}

} // namespace

std::string completion_script(const std::string& shell, const std::vector<Command>& all) {
  if (shell == "bash") {
    return bash_script(all);
  }
  if (shell == "zsh") {
    return zsh_script(all);
  }
  if (shell == "fish") {
    return fish_script(all);
  }
  const std::string near = operators::nearest_name(shell, {"bash", "zsh", "fish"});
  throw operators::Error(operators::ErrorKind::kUsage,
                         fmt::format("there is no completion for '{}'{}; there are bash, zsh and fish", shell,
                                     near.empty() ? "" : fmt::format(", did you mean '{}'?", near)));
}

} // namespace attnprof::cli
