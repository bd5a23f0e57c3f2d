#include "cli/app.hpp"
#include "cli/exit_code.hpp"

#include <csignal>
#include <iostream>
#include <poll.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

/// A reader that left (`| head`) is no fault; a full disk is one.
int exit_code_for_output(int code) {
  std::cout.flush();
  if (std::cout) {
    return code;
  }
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  const bool reader_left = ::poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
  if (reader_left) {
    return code;
  }
  std::cerr << "attnprof: standard output could not be written; is the disk full?\n";
  return code == attnprof::cli::kExitOk ? attnprof::cli::kExitUsage : code;
}

} // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  // A sweep whose output nobody reads any more still finishes its records.
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  attnprof::cli::Seams seams = attnprof::cli::system_seams();
  return exit_code_for_output(attnprof::cli::run(args, std::cout, std::cerr, seams));
}
