#include "cli/interrupt.hpp"
#include "tests/support/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>

using namespace attnprof;

namespace {

/// How a process ends that gets these signals one after the other while a sweep would run.
int status_after(int first, int second) {
  const pid_t child = fork();
  if (child == 0) {
    cli::Interrupt interrupt;
    const cli::InterruptScope scope(interrupt);
    raise(first);
    const bool heard = interrupt.requested && interrupt.signal == first;
    if (second != 0) {
      raise(second);
    }
    _exit(heard ? 17 : 18);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

} // namespace

TEST_CASE("interrupt: the first signal is heard, the second ends the process, whichever they are") {
  for (const int first : {SIGINT, SIGTERM}) {
    const int one = status_after(first, 0);
    REQUIRE(WIFEXITED(one));
    CHECK(WEXITSTATUS(one) == 17);
    for (const int second : {SIGINT, SIGTERM}) {
      const int two = status_after(first, second);
      INFO(first << " then " << second);
      REQUIRE(WIFSIGNALED(two));
      CHECK(WTERMSIG(two) == second);
    }
  }
}

TEST_CASE("interrupt: the former handlers come back") {
  const auto before = std::signal(SIGINT, SIG_IGN);
  {
    cli::Interrupt interrupt;
    const cli::InterruptScope scope(interrupt);
  }
  CHECK(std::signal(SIGINT, before) == SIG_IGN);
}
