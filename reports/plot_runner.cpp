// Running gnuplot: the one place of reports that starts a process.
#include "reports/result_set.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ; // NOLINT: POSIX

namespace attnprof::reports {
namespace {

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return -1;
    }
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The script names its output without a folder, so it begins by changing into the folder.
std::string in_folder(const std::filesystem::path& folder, const std::string& script) {
  std::string quoted;
  for (const char c : std::filesystem::absolute(folder).string()) {
    quoted += c;
    quoted += c == '\'' ? "'" : "";
  }
  return "cd '" + quoted + "'\n" + script;
}

bool run_gnuplot(const std::filesystem::path& folder, const std::string& script) {
  std::string name = "attnprof-plot-XXXXXX";
  const std::filesystem::path pattern = std::filesystem::temp_directory_path() / name;
  std::string path = pattern.string();
  const int file = ::mkstemp(path.data());
  if (file < 0) {
    return false;
  }
  const std::string text = in_folder(folder, script);
  const bool stored = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  FileActions actions;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(actions.get(), stream, "/dev/null", O_RDWR, 0);
  }
  std::string program = "gnuplot";
  std::array<char*, 3> arguments = {program.data(), path.data(), nullptr};
  pid_t child = 0;
  const bool started =
      stored && ::posix_spawnp(&child, program.c_str(), actions.get(), nullptr, arguments.data(), environ) == 0;
  const bool done = started && wait_for(child) == 0;
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return done;
}

} // namespace

PlotRunner gnuplot_runner() {
  return run_gnuplot;
}

} // namespace attnprof::reports
