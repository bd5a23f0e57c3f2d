#include "cli/child_process.hpp"

#include "operators/core/error.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;

[[noreturn]] void refuse(const char* action, int number) {
  throw Error(ErrorKind::kInternal, fmt::format("cannot {}: {}", action, std::generic_category().message(number)));
}

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
      refuse("open a pipe", errno);
    }
  }
  ~Pipe() {
    ::close(ends_[0]);
    close_writing();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_writing() {
    if (ends_[1] >= 0) {
      ::close(ends_[1]);
      ends_[1] = -1;
    }
  }
  [[nodiscard]] int reading() const { return ends_[0]; }
  [[nodiscard]] int writing() const { return ends_[1]; }

 private:
  std::array<int, 2> ends_{-1, -1};
};

pid_t start(const std::filesystem::path& program, std::vector<std::string> args, const Pipe& out) {
  std::string name = program.string();
  std::vector<char*> argv{name.data()};
  for (std::string& arg : args) {
    argv.push_back(arg.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.writing(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    refuse("start this program again", error);
  }
  return child;
}

/// Takes what stands in the pipe within `wait_ms`; false once nothing more can come.
bool read_some(int descriptor, int wait_ms, std::string& out) {
  pollfd waiting{descriptor, POLLIN, 0};
  if (::poll(&waiting, 1, wait_ms) <= 0) {
    return true;
  }
  std::array<char, 65536> buffer;
  const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
  if (count > 0) {
    out.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return count > 0 || (count < 0 && errno == EINTR);
}

/// The rest of the pipe, without waiting: a grandchild may keep it open.
void drain(int descriptor, std::string& out) {
  for (std::size_t before = out.size();; before = out.size()) {
    if (!read_some(descriptor, 0, out) || out.size() == before) {
      return;
    }
  }
}

bool has_ended(pid_t child, int& status) {
  return ::waitpid(child, &status, WNOHANG) == child;
}

} // namespace

ChildResult run_child(const std::filesystem::path& program, const std::vector<std::string>& args, double timeout_s,
                      const Interrupt& interrupt) {
  using Clock = std::chrono::steady_clock;
  Pipe out;
  ChildResult result;
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  const pid_t child = start(program, args, out);
  out.close_writing();
  bool told = false;
  bool open = true;
  int status = 0;
  constexpr int kGlanceMs = 20;
  while (!has_ended(child, status)) {
    if (interrupt.requested && !told) {
      ::kill(child, SIGTERM);
      told = true;
    }
    if (Clock::now() >= deadline) {
      result.timed_out = true;
      ::kill(child, SIGKILL);
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      break;
    }
    if (open) {
      open = read_some(out.reading(), kGlanceMs, result.out);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(kGlanceMs));
    }
  }
  drain(out.reading(), result.out);
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

} // namespace attnprof::cli
