#pragma once

#include <filesystem>
#include <string>

namespace attnprof::tests {

/// Root of the source tree that the tests were built from.
std::filesystem::path source_dir();
/// tests/data: all files that tests read, besides the sources.
std::filesystem::path test_files_dir();
/// The program under test.
std::string binary();
/// The plugin that replays a recorded GPU.
std::string replayed_gpu();

} // namespace attnprof::tests
