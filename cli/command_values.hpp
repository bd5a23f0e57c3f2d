// What may stand behind a flag or as an argument, for completion. From the same registries as the parser.
#pragma once

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace attnprof::cli {

struct ValueChoices {
  std::vector<std::string> names; ///< empty: not a fixed set
  bool is_path = false;           ///< a file or folder
};
ValueChoices choices_of(const OptionSpec& option);
/// Of the arguments without a flag.
ValueChoices positional_choices(const Command& command);

} // namespace attnprof::cli
