#include "tests/support/paths.hpp"

namespace attnprof::tests {

std::filesystem::path source_dir() {
  return ATTNPROF_SOURCE_DIR;
}

std::filesystem::path test_files_dir() {
  return source_dir() / "tests" / "data";
}

std::string binary() {
  return ATTNPROF_BINARY;
}

std::string replayed_gpu() {
  return ATTNPROF_REPLAYED_GPU;
}

} // namespace attnprof::tests
