// What a command is: its flags as a table, from which parsing, --help and error messages follow.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::cli {

struct Context;

enum class OptionGroup { kWorkload, kSelection, kMeasuring, kOutput, kGate };

struct OptionSpec {
  std::string name;       ///< "--min-time"
  std::string short_name; ///< "-w", or empty
  std::string value;      ///< what stands for the value in --help, "TIME"; empty: a flag without a value
  std::string help;       ///< one clause
  OptionGroup group = OptionGroup::kOutput;
  bool repeats = false;        ///< may be given several times
  bool brief = false;          ///< --help names it without its help, which `list` has
  bool value_optional = false; ///< a truth value, which the flag alone sets: --causal is --causal=true
};

/// The flags of one invocation as text, from the command line or the configuration file.
class Arguments {
 public:
  [[nodiscard]] bool given(std::string_view name) const;
  /// Absent where it was not given. Throws Error(kUsage) where it was given twice.
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  /// All values of a flag that may be repeated.
  [[nodiscard]] const std::vector<std::string>& all(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& positionals() const { return positionals_; }

  void add(std::string name, std::vector<std::string> values) { values_[std::move(name)] = std::move(values); }
  void set_positionals(std::vector<std::string> values) { positionals_ = std::move(values); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> positionals_;
};

struct Command {
  std::string name;
  std::string summary;    ///< one line
  std::string details;    ///< further lines of --help, or empty
  std::string usage;      ///< what follows the name in the usage line
  std::string positional; ///< what an argument without a flag is, "case id"; empty: none is taken
  std::vector<OptionSpec> options;
  std::vector<std::string> examples; ///< two, without the program's name
  /// Returns the exit code. Throws operators::Error.
  int (*run)(const Arguments& arguments, Context& context) = nullptr;
};

/// All commands, in the order in which --help lists them.
const std::vector<Command>& commands();

/// Reads the arguments that follow the command's name. Throws Error(kUsage) with the flag and the nearest valid one.
/// `help` is set instead of an error where --help is among them.
struct ParsedCommand {
  Arguments arguments;
  bool help = false;
};
ParsedCommand parse_command(const Command& command, const std::vector<std::string>& args);

/// One screen: at most 100 columns and 50 lines.
std::string help_text(const Command& command);
std::string help_text(const std::vector<Command>& all);

/// The flag nearest to one that does not exist: by edits, else by its first letters. Empty where none is near.
std::string nearest_flag(std::string_view flag, const std::vector<OptionSpec>& options);

} // namespace attnprof::cli
