#include "tests/support/run_binary.hpp"

#include "tests/support/paths.hpp"
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <stdexcept>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "tests/support/temp_dir.hpp"

namespace attnprof::tests {
namespace {

std::vector<std::string> environment_with(const std::map<std::string, std::optional<std::string>>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!changes.contains(std::string(text.substr(0, text.find('=')))))
      result.emplace_back(text);
  }
  for (const auto& [name, value] : changes)
    if (value)
      result.push_back(name + "=" + *value);
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& text : strings)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::string contents_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The child's standard streams and working directory, in the form posix_spawn takes.
class FileActions {
 public:
  FileActions() { check(posix_spawn_file_actions_init(&actions_), "prepare the program's files"); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void open(int descriptor, const std::filesystem::path& file, int flags) {
    check(posix_spawn_file_actions_addopen(&actions_, descriptor, file.c_str(), flags, 0600),
          "redirect to " + file.string());
  }
  void change_directory(const std::filesystem::path& folder) {
    check(posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str()), "change to " + folder.string());
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

  static void check(int error, const std::string& intent) {
    if (error != 0)
      throw std::system_error(error, std::generic_category(), "cannot " + intent);
  }

 private:
  posix_spawn_file_actions_t actions_;
};

int wait_for(pid_t child, const std::string& program, std::chrono::seconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(child, &status, WNOHANG)) != child;) {
    if (ended < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "cannot wait for " + program);
    if (std::chrono::steady_clock::now() > deadline) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      throw std::runtime_error(program + " did not end within " + std::to_string(timeout.count()) +
                               " s and was killed");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace

RunResult run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                      const RunOptions& options) {
  // Files, not pipes: a program that fills both streams cannot deadlock, and nothing has to be read while it runs.
  const TempDir streams;
  std::ofstream(streams / "in", std::ios::binary) << options.standard_input;
  FileActions actions;
  actions.open(STDIN_FILENO, streams / "in", O_RDONLY);
  actions.open(STDOUT_FILENO, streams / "out", O_WRONLY | O_CREAT);
  actions.open(STDERR_FILENO, streams / "err", O_WRONLY | O_CREAT);
  if (!options.working_directory.empty())
    actions.change_directory(options.working_directory);

  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = environment_with(options.environment);
  pid_t child = 0;
  FileActions::check(posix_spawn(&child, program.c_str(), actions.get(), nullptr, pointers_to(words).data(),
                                 pointers_to(environment).data()),
                     "start " + program.string());
  const int exit_code = wait_for(child, program.string(), options.timeout);
  return {exit_code, contents_of(streams / "out"), contents_of(streams / "err")};
}

RunResult run_binary(const std::vector<std::string>& arguments, const RunOptions& options) {
  return run_program(binary(), arguments, options);
}

} // namespace attnprof::tests
