// Parsing one command's flags. The only file that knows CLI11.
#include "cli/command.hpp"
#include "operators/core/error.hpp"
#include "operators/core/registry.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;

constexpr std::string_view kTruthValues[] = {"true", "false", "on", "off", "0", "1"};

bool is_truth_list(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (std::find(std::begin(kTruthValues), std::end(kTruthValues), text.substr(0, end)) == std::end(kTruthValues)) {
      return false;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

/// Writes the value into flags that may stand alone, so that `--causal CASE_ID` does not take the id for its value.
std::vector<std::string> with_truth_values(const Command& command, const std::vector<std::string>& args) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto alone = [&](const OptionSpec& option) { return option.value_optional && option.name == args[i]; };
    if (std::none_of(command.options.begin(), command.options.end(), alone)) {
      out.push_back(args[i]);
    } else if (i + 1 < args.size() && !args[i + 1].empty() && is_truth_list(args[i + 1])) {
      out.push_back(args[i] + "=" + args[i + 1]);
      ++i;
    } else {
      out.push_back(args[i] + "=true");
    }
  }
  return out;
}

std::string names_of(const OptionSpec& option) {
  std::string names = option.short_name.empty() ? option.name : option.short_name + "," + option.name;
  // Configuration files may write keys as records do, with underscores.
  std::string underscored = "--" + option.name.substr(2);
  std::replace(underscored.begin() + 2, underscored.end(), '-', '_');
  return underscored == option.name ? names : names + "," + underscored;
}

Error unexpected(const Command& command, const std::vector<std::string>& rest) {
  const auto is_flag = [](const std::string& arg) { return arg.size() > 1 && arg.front() == '-'; };
  const auto flag = std::find_if(rest.begin(), rest.end(), is_flag);
  if (flag == rest.end()) {
    return Error(ErrorKind::kUsage,
                 fmt::format("'{}' is one argument too many for `attnprof {}`; see attnprof {} --help",
                             rest.empty() ? "" : rest.front(), command.name, command.name));
  }
  const std::string name = flag->substr(0, flag->find('='));
  std::vector<std::string> takers;
  for (const Command& other : commands()) {
    for (const OptionSpec& option : other.options) {
      if (option.name == name || option.short_name == name) {
        takers.push_back(other.name);
      }
    }
  }
  if (!takers.empty()) {
    return Error(ErrorKind::kUsage, fmt::format("{} is not a flag of `attnprof {}`; it belongs to {}", name,
                                                command.name, fmt::join(takers, ", ")));
  }
  const std::string near = nearest_flag(name, command.options);
  return Error(
      ErrorKind::kUsage,
      near.empty()
          ? fmt::format("{} is not a flag of `attnprof {}`; see attnprof {} --help", name, command.name, command.name)
          : fmt::format("{} is not a flag of `attnprof {}`; did you mean {}?", name, command.name, near));
}

/// The flag that CLI11 puts in front of its message, "--seq-len: 1 required TEXT missing".
std::string flag_of(const CLI::ParseError& error) {
  const std::string text = error.what();
  return text.substr(0, text.find(':'));
}

[[noreturn]] void translate(const Command& command, const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    throw unexpected(command, app.remaining(true));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} needs a value; see attnprof {} --help", flag_of(error), command.name));
  }
  if (dynamic_cast<const CLI::FileError*>(&error) != nullptr) {
    const CLI::Option* config = app.get_option_no_throw("--config");
    throw Error(ErrorKind::kUsage, fmt::format("--config '{}' cannot be read",
                                               config == nullptr || config->empty() ? "" : config->results().front()));
  }
  if (dynamic_cast<const CLI::ConfigError*>(&error) != nullptr) {
    // "INI was not able to parse seq-lem": the key is the last word.
    const std::string text = error.what();
    const std::string key = text.substr(text.rfind(' ') + 1);
    const std::string near = nearest_flag("--" + key, command.options);
    throw Error(ErrorKind::kUsage,
                fmt::format("--config holds '{}', which is not a flag of `attnprof {}`{}", key, command.name,
                            near.empty() ? "" : fmt::format("; did you mean {}?", near.substr(2))));
  }
  throw Error(ErrorKind::kUsage, fmt::format("{}; see attnprof {} --help", error.what(), command.name));
}

} // namespace

bool Arguments::given(std::string_view name) const {
  return values_.find(name) != values_.end();
}

std::optional<std::string> Arguments::text(std::string_view name) const {
  const std::vector<std::string>& values = all(name);
  if (values.size() > 1) {
    throw Error(ErrorKind::kUsage, fmt::format("{} is given {} times: '{}' and '{}'; give it once", name, values.size(),
                                               values[0], values[1]));
  }
  return values.empty() ? std::nullopt : std::optional(values.front());
}

const std::vector<std::string>& Arguments::all(std::string_view name) const {
  static const std::vector<std::string> kNone;
  const auto found = values_.find(name);
  return found == values_.end() ? kNone : found->second;
}

std::string nearest_flag(std::string_view flag, const std::vector<OptionSpec>& options) {
  std::vector<std::string> known;
  for (const OptionSpec& option : options) {
    known.push_back(option.name);
  }
  std::string near = operators::nearest_name(flag, known);
  if (!near.empty()) {
    return near;
  }
  constexpr std::size_t kLeastCommon = 5; // "--" and three letters
  std::size_t best = kLeastCommon - 1;
  for (const std::string& name : known) {
    const auto common = static_cast<std::size_t>(
        std::mismatch(name.begin(), name.end(), flag.begin(), flag.end()).first - name.begin());
    if (common > best) {
      best = common;
      near = name;
    }
  }
  return near;
}

ParsedCommand parse_command(const Command& command, const std::vector<std::string>& args) {
  CLI::App app;
  app.set_help_flag("-h,--help");
  app.allow_config_extras(CLI::config_extras_mode::error);
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, bool> flags;
  std::vector<std::string> positionals;
  for (const OptionSpec& option : command.options) {
    if (option.name == "--config") {
      app.set_config("--config", "", option.help);
    } else if (option.value.empty()) {
      app.add_flag(names_of(option), flags[option.name]);
    } else {
      app.add_option(names_of(option), values[option.name])
          ->expected(1)
          ->allow_extra_args(false)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
  }
  if (!command.positional.empty()) {
    app.add_option("arguments", positionals)->configurable(false);
  }
  ParsedCommand out;
  try {
    std::vector<std::string> reversed = with_truth_values(command, args);
    std::reverse(reversed.begin(), reversed.end()); // CLI11 takes them from the back
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    out.help = true;
    return out;
  } catch (const CLI::ParseError& error) {
    translate(command, app, error);
  }
  for (auto& [name, texts] : values) {
    if (!texts.empty()) {
      out.arguments.add(name, std::move(texts));
    }
  }
  for (const auto& [name, set] : flags) {
    if (set) {
      out.arguments.add(name, {"true"});
    }
  }
  out.arguments.set_positionals(std::move(positionals));
  return out;
}

} // namespace attnprof::cli
