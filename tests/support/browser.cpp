#include "tests/support/browser.hpp"

#include "tests/support/run_binary.hpp"
#include "tests/support/temp_dir.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace attnprof::tests {
namespace {

constexpr std::string_view kOpen = "<pre id=\"outcome\">";

/// A page that holds another one in a frame and writes down its message.
void write_frame(const std::filesystem::path& path, const std::filesystem::path& page, int width, int height) {
  std::ofstream(path) << "<!doctype html><title>frame</title><body style=\"margin:0\"><iframe src=\"file://"
                      << page.string() << "\" style=\"border:0;width:" << width << "px;height:" << height
                      << "px\"></iframe>" << kOpen
                      << "</pre><script>addEventListener('message', event => {"
                         "document.getElementById('outcome').textContent = event.data;});</script>";
}

RunResult run_browser(const std::filesystem::path& browser, const std::filesystem::path& page, int width, int height,
                      std::vector<std::string> more) {
  const TempDir profile;
  const std::filesystem::path frame = profile / "frame.html";
  write_frame(frame, page, width, height);
  std::vector<std::string> arguments = {
      "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
      "--disable-background-networking", "--disable-dev-shm-usage", "--enable-logging=stderr",
      // Whatever the page asks for outside itself fails.
      "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9", "--force-device-scale-factor=1",
      // Time stands still while the page is at work, so that a busy machine changes nothing.
      "--virtual-time-budget=30000", "--user-data-dir=" + profile.path().string(),
      "--window-size=" + std::to_string(width) + "," + std::to_string(height)};
  if (::geteuid() == 0) {
    arguments.push_back("--no-sandbox"); // Chromium refuses its sandbox to root
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.push_back("file://" + frame.string());
  RunOptions options;
  options.timeout = std::chrono::seconds(120);
  options.environment = {{"HOME", profile.path().string()}};
  RunResult result = run_program(browser, arguments, options);
  if (result.exit_code != 0) {
    throw std::runtime_error(browser.string() + " ended with " + std::to_string(result.exit_code) + ":\n" + result.err);
  }
  return result;
}

} // namespace

std::optional<std::filesystem::path> find_browser() {
  if (const char* named = std::getenv("ATTNPROF_BROWSER"); named != nullptr && *named != '\0') {
    return named;
  }
  const char* path = std::getenv("PATH");
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      const std::filesystem::path program = std::filesystem::path(folder) / name;
      if (!folder.empty() && ::access(program.c_str(), X_OK) == 0) {
        return program;
      }
    }
  }
  return {};
}

PageOutcome load_page(const std::filesystem::path& browser, const std::filesystem::path& page, int width, int height) {
  const RunResult result = run_browser(browser, page, width, height, {"--dump-dom"});
  PageOutcome out;
  const std::size_t begin = result.out.find(kOpen);
  const std::size_t end = result.out.find("</pre>", begin);
  if (begin == std::string::npos || end == std::string::npos) {
    throw std::runtime_error("the browser printed no page:\n" + result.out + result.err);
  }
  out.message = result.out.substr(begin + kOpen.size(), end - begin - kOpen.size());
  std::istringstream lines(result.err);
  for (std::string line; std::getline(lines, line);) {
    out.console += line.find("CONSOLE") == std::string::npos ? std::string() : line + "\n";
  }
  return out;
}

void picture_page(const std::filesystem::path& browser, const std::filesystem::path& page, int width, int height,
                  bool dark, const std::filesystem::path& picture) {
  run_browser(browser, page, width, height,
              {"--screenshot=" + picture.string(),
               dark ? "--blink-settings=preferredColorScheme=0" : "--blink-settings=preferredColorScheme=1"});
}

} // namespace attnprof::tests
