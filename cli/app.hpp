#pragma once
#include "cli/context.hpp"

#include <iosfwd>
#include <span>
#include <string>

namespace attnprof::cli {

/// The whole program on arguments without the program's name. Results go to `out`, progress and errors to `err`;
/// nothing is thrown. Returns the exit code (cli/exit_code.hpp).
int run(std::span<const std::string> args, std::ostream& out, std::ostream& err, Seams& seams);

} // namespace attnprof::cli
