// Sweeps that are ended from outside keep what they have (BUG-165 to BUG-168).
#include "tests/integration/cli_support.hpp"
#include "tests/support/paths.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace attnprof::tests;
using nlohmann::json;

namespace {

/// Twelve cases of 0.2 s each, so that there is time to interrupt them.
const std::string kLongSweep =
    "sweep --variant mha,gqa,cga --grid 4x4,5x5 --dim 16 --heads 2 --plan eager,fused --min-time 0.2 --timeout 0.5";

std::size_t whole_lines(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Starts the sweep, waits for some rows, sends the signal, and returns what waitpid says.
int interrupted_status(const Workplace& place, const std::string& line, std::size_t rows, int signal) {
  std::vector<std::string> args = words(line);
  args.insert(args.begin(), binary());
  std::vector<char*> argv;
  for (std::string& arg : args) {
    argv.push_back(arg.data());
  }
  argv.push_back(nullptr);
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    variables.emplace_back(*entry);
  }
  for (const auto& [name, value] : place.options().environment) {
    variables.push_back(name + "=" + value.value_or(""));
  }
  // The last of two equal names would lose with getenv.
  std::reverse(variables.begin(), variables.end());
  std::vector<char*> envp;
  for (std::string& variable : variables) {
    envp.push_back(variable.data());
  }
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, place.options().working_directory.c_str());
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  REQUIRE(posix_spawn(&child, binary().c_str(), &actions, nullptr, argv.data(), envp.data()) == 0);
  posix_spawn_file_actions_destroy(&actions);
  const std::filesystem::path file = place.file("out/records.jsonl");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5); // against hangs only
  while (whole_lines(file) < rows && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, signal);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void check_complete_after_resume(const Workplace& place, const std::vector<std::string>& kept) {
  const RunResult resumed = place.run(kLongSweep + " --resume -o out");
  INFO(resumed.err);
  CHECK(resumed.exit_code == 0);
  const std::vector<std::string> lines = place.lines("out/records.jsonl");
  REQUIRE(lines.size() >= kept.size());
  CHECK(std::vector<std::string>(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(kept.size())) == kept);
  const auto rows = csv_rows(place.text("out/results.csv"));
  REQUIRE(rows.size() == 12);
  CHECK(std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.at("status") == "ok"; }));
  // The order is that of the plan.
  std::vector<std::string> order;
  for (const auto& row : rows) {
    order.push_back(row.at("id"));
  }
  const RunResult plan = place.run(kLongSweep + " --dry-run");
  std::size_t at = 0;
  for (const std::string& id : order) {
    const std::size_t found = plan.out.find(id, at);
    INFO(id);
    REQUIRE(found != std::string::npos);
    at = found;
  }
}

} // namespace

TEST_CASE("interrupt: after SIGKILL every finished row is on the disk, and resuming runs the rest") {
  const Workplace place;
  const int status = interrupted_status(place, kLongSweep + " -o out", 4, SIGKILL);
  REQUIRE(WIFSIGNALED(status));
  std::vector<std::string> kept;
  {
    const std::string text = place.text("out/records.jsonl");
    std::istringstream stream(text.substr(0, text.rfind('\n') + 1));
    for (std::string line; std::getline(stream, line);) {
      kept.push_back(line);
    }
  }
  REQUIRE(kept.size() >= 4);
  REQUIRE(kept.size() < 12);
  std::ofstream(place.file("out/records.jsonl"), std::ios::app) << "{\"schema_ver";
  check_complete_after_resume(place, kept);
}

TEST_CASE("interrupt: SIGINT and SIGTERM end between two cases, and the rest are rows") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Workplace place;
    const int status = interrupted_status(place, kLongSweep + " -o out", 2, signal);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 128 + signal);
    const std::vector<json> records = place.records("out");
    REQUIRE(records.size() == 12); // no half row, and none is missing
    CHECK(records[0]["status"] == "ok");
    CHECK(records[1]["status"] == "ok");
    CHECK(records[11]["status"] == "skipped");
    CHECK(has(records[11]["reason"], "interrupted"));
    CHECK(records[11]["measured"].is_null());
    CHECK(csv_rows(place.text("out/results.csv")).size() == 12);
    std::vector<std::string> kept;
    for (const std::string& line : place.lines("out/records.jsonl")) {
      if (json::parse(line)["status"] == "ok") {
        kept.push_back(line);
      }
    }
    check_complete_after_resume(place, kept);
  }
}

TEST_CASE("interrupt: a torn last line is dropped with a note, damage elsewhere names its line") {
  const Workplace place;
  REQUIRE(place.run(kSmallSweep + " -o out").exit_code == 0);
  const std::string whole = place.text("out/records.jsonl");
  std::ofstream(place.file("out/records.jsonl"), std::ios::binary) << whole.substr(0, whole.size() - 20);
  const RunResult torn = place.run("report out");
  CHECK(torn.exit_code == 0);
  CHECK(has(torn.err, "line 6"));
  const RunResult resumed = place.run(kSmallSweep + " --resume -o out");
  CHECK(resumed.exit_code == 0);
  CHECK(has(resumed.err, "5 of 6"));

  std::vector<std::string> lines = place.lines("out/records.jsonl");
  lines[2] = lines[2].substr(0, lines[2].size() / 2);
  std::ofstream file(place.file("out/records.jsonl"), std::ios::binary);
  for (const std::string& line : lines) {
    file << line << "\n";
  }
  file.close();
  const RunResult broken = place.run("report out");
  CHECK(broken.exit_code == 2);
  CHECK(has(broken.err, "line 3"));
}
