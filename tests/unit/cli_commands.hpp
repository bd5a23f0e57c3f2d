#pragma once
#include "cli/command.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace attnprof::tests {

/// The command of that name; fails the test where there is none.
inline const cli::Command& command(const std::string& name) {
  for (const cli::Command& one : cli::commands()) {
    if (one.name == name) {
      return one;
    }
  }
  FAIL("no command " + name);
  return cli::commands().front();
}

} // namespace attnprof::tests
