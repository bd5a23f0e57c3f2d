#include "cli/child_process.hpp"
#include "operators/core/error.hpp"
#include "tests/support/catch.hpp"

#include <csignal>

using namespace attnprof;
using cli::ChildResult;
using cli::Interrupt;

namespace {
ChildResult shell(const std::string& script, double timeout_s = 60, const Interrupt& interrupt = {}) {
  return cli::run_child("/bin/sh", {"-c", script}, timeout_s, interrupt);
}
} // namespace

TEST_CASE("child process: output and exit code") {
  const ChildResult result = shell("printf 'a line\\n'; printf 'dropped' >&2; exit 4");
  CHECK(result.out == "a line\n");
  CHECK(result.exit_code == 4);
  CHECK_FALSE(result.timed_out);
  CHECK(shell("head -c 1000000 /dev/zero").out.size() == 1'000'000); // more than a pipe holds
}

TEST_CASE("child process: a crash is told by its signal") {
  CHECK(shell("kill -SEGV $$").exit_code == 128 + SIGSEGV);
  CHECK(shell("kill -ABRT $$").exit_code == 128 + SIGABRT);
}

TEST_CASE("child process: a hang is ended, and so is one that closes its output first") {
  CHECK(shell("exec sleep 600", 0.2).timed_out);
  CHECK(shell("exec sleep 600", 0.2).exit_code == 128 + SIGKILL);
  CHECK(shell("exec sleep 600 >&-", 0.2).timed_out);
}

TEST_CASE("child process: an interrupt is passed on") {
  Interrupt interrupt;
  interrupt.requested = true;
  const ChildResult result = shell("trap 'exit 143' TERM; while :; do sleep 0.05; done", 60, interrupt);
  // The signal may come before the trap is set.
  CHECK(result.exit_code == 128 + SIGTERM);
  CHECK_FALSE(result.timed_out);
}

TEST_CASE("child process: what it leaves running is not waited for") {
  const ChildResult result = shell("sleep 5 & echo done");
  CHECK(result.out == "done\n");
  CHECK(result.exit_code == 0);
  CHECK_FALSE(result.timed_out);
}

TEST_CASE("child process: a program that is not there is an error") {
  const Interrupt interrupt;
  CHECK_THROWS_AS(cli::run_child("/nowhere/at/all", {}, 1, interrupt), operators::Error);
}
