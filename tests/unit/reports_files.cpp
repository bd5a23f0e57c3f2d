// The real file system and the real gnuplot, where it is installed.
#include "operators/core/error.hpp"
#include "reports/files.hpp"
#include "reports/result_set.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temp_dir.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

using namespace attnprof;
using namespace attnprof::reports;
using Catch::Matchers::Contains;

TEST_CASE("files are read whole, replaced whole, and absent files are absent") {
  const tests::TempDir folder;
  DiskFiles files;
  CHECK_FALSE(files.read(folder / "none"));
  files.write(folder / "a", std::string_view("x\0y\r\n", 5));
  CHECK(*files.read(folder / "a") == std::string("x\0y\r\n", 5));
  files.write(folder / "a", "short");
  CHECK(*files.read(folder / "a") == "short");
  // No temporary file is left behind.
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  files.make_directory(folder / "b/c");
  CHECK(files.is_directory(folder / "b/c"));
  CHECK_FALSE(files.is_directory(folder / "a"));
}

TEST_CASE("files are read piece by piece too, each byte once") {
  const tests::TempDir folder;
  DiskFiles files;
  std::string text;
  while (text.size() < 3'000'000) {
    text += std::to_string(text.size()) + "\n";
  }
  files.write(folder / "large", text);
  std::string found;
  std::size_t longest = 0;
  CHECK(files.read_pieces(folder / "large", [&](std::string_view piece) {
    found += piece;
    longest = std::max(longest, piece.size());
  }));
  CHECK(found == text);
  CHECK(longest < text.size());
  CHECK(*files.read(folder / "large") == text);
  CHECK_FALSE(files.read_pieces(folder / "none", [](std::string_view) { FAIL("there is no piece"); }));
}

TEST_CASE("lines are appended after what is kept") {
  const tests::TempDir folder;
  DiskFiles files;
  files.write(folder / "r", "one\ntorn");
  const auto lines = files.open_lines(folder / "r", 4);
  CHECK(*files.read(folder / "r") == "one\n");
  lines->append("two");
  CHECK(*files.read(folder / "r") == "one\ntwo\n");
  files.open_lines(folder / "new", 0)->append("x");
  CHECK(*files.read(folder / "new") == "x\n");
}

TEST_CASE("paths that cannot be used are named") {
  const tests::TempDir folder;
  DiskFiles files;
  files.write(folder / "a", "x");
  CHECK_THROWS_WITH(files.write(folder / "no/such/file", "x"), Contains("no/such/file"));
  CHECK_THROWS_WITH(files.make_directory(folder / "a/b"), Contains("a/b"));
  CHECK_THROWS_WITH(files.open_lines(folder / "no/r", 0), Contains("no/r"));
  CHECK_THROWS_WITH(files.read(folder.path()), Contains(folder.path().filename().string()));
}

TEST_CASE("gnuplot draws into the folder it is given, the same bytes each time, or says that it cannot") {
  const tests::TempDir folder;
  DiskFiles files;
  const Figure figure{
      "x", "set terminal svg\nset output 'x.svg'\nplot x\nset terminal pngcairo\nset output 'x.png'\nreplot\n"
           "set terminal pdfcairo\nset output 'x.pdf'\nreplot\nunset output\n"};
  files.write(folder / "x.png", "of an earlier run");
  const std::vector<std::string> drawn = gnuplot_runner()(folder.path(), figure);
  if (std::system("gnuplot -e 'if (strstrt(GPVAL_TERMINALS, \"pdfcairo\") == 0) { exit status 1 }' > /dev/null 2>&1") !=
      0) {
    WARN("gnuplot with its cairo terminals is not installed: nothing was drawn");
    CHECK(drawn.empty());
    return;
  }
  CHECK(drawn == std::vector<std::string>{"x.svg", "x.png", "x.pdf"});
  std::vector<std::string> first;
  for (const std::string& name : drawn) {
    first.push_back(*files.read(folder / name));
    CHECK(first.back().size() > 1000);
  }
  // A second later: PDF files hold the time they were made.
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  gnuplot_runner()(folder.path(), figure);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    INFO(drawn[i]);
    CHECK((*files.read(folder / drawn[i]) == first[i]));
  }
  CHECK(gnuplot_runner()(folder.path(), {"x", "no such command\n"}).empty());
  CHECK_FALSE(std::filesystem::exists(folder / "x.svg")); // what is there was drawn now
}
