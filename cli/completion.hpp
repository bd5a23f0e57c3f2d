// Completion scripts and the manual page, made from the command tree. Pure.
#pragma once

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace attnprof::cli {

/// "bash", "zsh" or "fish". Throws Error(kUsage) for another shell, with the known ones.
std::string completion_script(const std::string& shell, const std::vector<Command>& all);

/// attnprof(1) in roff with the man macros.
std::string manual_page(const std::vector<Command>& all);

} // namespace attnprof::cli
