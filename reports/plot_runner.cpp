// Running gnuplot: the one place of reports that starts a process.
#include "reports/result_set.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

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

/// The environment with a fixed time of creation, which PDF files hold: the same script gives the same bytes.
class FixedTime {
 public:
  FixedTime() : setting_("SOURCE_DATE_EPOCH=0") {
    for (char** at = environ; *at != nullptr; ++at) {
      if (!std::string_view(*at).starts_with("SOURCE_DATE_EPOCH=")) {
        variables_.push_back(*at);
      }
    }
    variables_.push_back(setting_.data());
    variables_.push_back(nullptr);
  }
  FixedTime(const FixedTime&) = delete;
  FixedTime& operator=(const FixedTime&) = delete;
  char* const* get() { return variables_.data(); }

 private:
  std::string setting_;
  std::vector<char*> variables_;
};

/// Older libraries write the time of day all the same: its digits are replaced one by one, so that no place in the file
/// moves.
void fix_creation_date(const std::filesystem::path& path) {
  DiskFiles files;
  std::string text = files.read(path).value_or("");
  constexpr std::string_view kBefore = "/CreationDate (D:";
  const std::size_t at = text.find(kBefore);
  if (at == std::string::npos) {
    return;
  }
  constexpr std::string_view kFixed = "19700101000000";
  for (std::size_t i = 0; i < kFixed.size() && at + kBefore.size() + i < text.size(); ++i) {
    char& digit = text[at + kBefore.size() + i];
    if (digit < '0' || digit > '9') {
      return;
    }
    digit = kFixed[i];
  }
  files.write(path, text);
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
  FixedTime environment;
  const bool started = stored && ::posix_spawnp(&child, program.c_str(), actions.get(), nullptr, arguments.data(),
                                                environment.get()) == 0;
  const bool done = started && wait_for(child) == 0;
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return done;
}

/// Files of an earlier run are removed first: what is there afterwards was drawn now.
std::vector<std::string> draw(const std::filesystem::path& folder, const Figure& figure) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const char* kind : {".svg", ".png", ".pdf"}) {
    std::filesystem::remove(folder / (figure.name + kind), ignored);
  }
  if (!run_gnuplot(folder, figure.script)) {
    return out;
  }
  for (const char* kind : {".svg", ".png", ".pdf"}) {
    const std::string name = figure.name + kind;
    if (std::filesystem::exists(folder / name, ignored)) {
      out.push_back(name);
    }
  }
  if (std::find(out.begin(), out.end(), figure.name + ".pdf") != out.end()) {
    fix_creation_date(folder / (figure.name + ".pdf"));
  }
  return out;
}

} // namespace

PlotRunner gnuplot_runner() {
  return draw;
}

} // namespace attnprof::reports
