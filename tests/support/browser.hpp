#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace attnprof::tests {

/// Chromium or Chrome on the PATH, or what ATTNPROF_BROWSER names; absent where there is none.
std::optional<std::filesystem::path> find_browser();

/// What a page told the frame around it with postMessage, and what it printed on its console.
struct PageOutcome {
  std::string message;
  std::string console; ///< lines of the browser's log that the page caused
};
/// Opens a page from the disk, without a network, in a frame of that width (a browser's window has a least width).
/// Throws std::runtime_error where the browser fails.
PageOutcome load_page(const std::filesystem::path& browser, const std::filesystem::path& page, int width, int height);

/// A picture of a page as PNG, in light or dark colours.
void picture_page(const std::filesystem::path& browser, const std::filesystem::path& page, int width, int height,
                  bool dark, const std::filesystem::path& picture);

} // namespace attnprof::tests
