// The rules on the project's own files.
#include "tests/lint/rules.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/paths.hpp"

#include <algorithm>

using namespace attnprof::tests::lint;

namespace {

const std::vector<SourceFile>& source_tree() {
  static const std::vector<SourceFile> files = read_source_tree(attnprof::tests::source_dir());
  return files;
}

} // namespace

TEST_CASE("source tree: the files are found", "[lint]") {
  const auto holds = [](const std::string& path) {
    return std::any_of(source_tree().begin(), source_tree().end(),
                       [&](const SourceFile& file) { return file.path == path; });
  };
  CHECK(holds("README.md"));
  CHECK(holds("operators/core/op.hpp"));
  CHECK(holds("scripts/attnprof"));
  CHECK(holds("tests/lint/source_tree_test.cpp"));
}

TEST_CASE("source tree: dependencies go one way", "[lint]") {
  CHECK(check_includes(source_tree()) == Breaches{});
}
TEST_CASE("source tree: no file over 500 lines", "[lint]") {
  CHECK(check_file_lengths(source_tree(), 500) == Breaches{});
}
TEST_CASE("source tree: folder names", "[lint]") {
  CHECK(check_folder_names(source_tree()) == Breaches{});
}
TEST_CASE("source tree: no path of one machine", "[lint]") {
  CHECK(check_machine_paths(source_tree()) == Breaches{});
}
TEST_CASE("source tree: every header has #pragma once", "[lint]") {
  CHECK(check_pragma_once(source_tree()) == Breaches{});
}
TEST_CASE("source tree: vocabulary of the headers", "[lint]") {
  CHECK(check_vocabulary(source_tree()) == Breaches{});
}
TEST_CASE("source tree: every variant and layout has an oracle", "[lint]") {
  CHECK(check_oracles(source_tree()) == Breaches{});
}
