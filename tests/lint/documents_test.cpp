#include "tests/lint/documents.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/paths.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

using namespace attnprof::tests::lint;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

} // namespace

TEST_CASE("documents: tables are found and replaced by name", "[lint]") {
  const std::string document =
      "a\n<!-- table: x -->\nold\n<!-- end of table -->\nb\n<!-- table: y -->\n<!-- end of table -->\n";
  CHECK(table_in(document, "x") == "old\n");
  CHECK(table_in(document, "y") == "");
  CHECK(table_in(document, "z") == std::nullopt);
  CHECK(table_in("<!-- table: x -->\nnever ends\n", "x") == std::nullopt);
  CHECK(table_in(with_table(document, "y", "new\n"), "y") == "new\n");
  CHECK(table_in(with_table(document, "y", "new\n"), "x") == "old\n");
  CHECK_THROWS(with_table(document, "z", "new\n"));
}

TEST_CASE("documents: a table in Markdown", "[lint]") {
  CHECK(markdown_table({"a", "b"}, {{"1", "x|y"}}) == "| a | b |\n|---|---|\n| 1 | x\\|y |\n");
}

TEST_CASE("documents: what is made from the code is up to date", "[lint]") {
  for (const DocumentPart& part : generated_parts()) {
    INFO("bring " << part.file << " up to date with: attnprof_lint_tests '[update-documents]'");
    const std::string document = read(attnprof::tests::source_dir() / part.file);
    REQUIRE_FALSE(part.text.empty());
    if (part.name.empty())
      CHECK(document == part.text);
    else
      CHECK(table_in(document, part.name).value_or("no table '" + part.name + "'") == part.text);
  }
}

// Runs only when asked for by its tag: writes the documents that the test above compares.
TEST_CASE("documents: bring up to date", "[.][update-documents]") {
  for (const DocumentPart& part : generated_parts()) {
    const fs::path file = attnprof::tests::source_dir() / part.file;
    const std::string text = part.name.empty() ? part.text : with_table(read(file), part.name, part.text);
    fs::create_directories(file.parent_path());
    std::ofstream stream(file, std::ios::binary);
    stream << text;
    REQUIRE(stream.flush().good());
  }
}
