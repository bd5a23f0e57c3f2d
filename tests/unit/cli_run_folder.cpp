#include "cli/run_folder.hpp"
#include "operators/core/error.hpp"
#include "reports/record_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/text.hpp"
#include "tests/unit/cli_fakes.hpp"

using namespace attnprof;
using cli::open_run_folder;
using tests::FakeFolders;
using tests::mentions;
using tests::refusal_of;

namespace {

profilers::Record row(const std::string& id) {
  profilers::Record record;
  record.id = id;
  record.config.set("variant", std::string("mha"));
  record.status = profilers::Status::kSkipped;
  record.reason = "for the test";
  return record;
}

std::string line(const std::string& id) {
  return reports::record_line(row(id)) + "\n";
}

void put(FakeFolders& files, const std::string& folder, const std::string& text) {
  files.folders.insert(folder);
  files.contents[folder + "/records.jsonl"] = text;
}

} // namespace

TEST_CASE("run folder: a new one is made and its records are appended") {
  FakeFolders files;
  cli::RunFolder folder = open_run_folder(files, "out", false);
  CHECK(files.folders.contains("out"));
  folder.writer.append(row("a"));
  CHECK(files.contents["out/records.jsonl"] == line("a"));
  CHECK(folder.notes.empty());
}

TEST_CASE("run folder: records of another sweep are never overwritten") {
  FakeFolders files;
  put(files, "out", line("a"));
  const std::string refusal = refusal_of([&] { open_run_folder(files, "out", false); });
  CHECK(mentions(refusal, "'out'"));
  CHECK(mentions(refusal, "--resume"));
  CHECK(mentions(refusal, "-o"));
  CHECK(files.contents["out/records.jsonl"] == line("a"));
  put(files, "empty", "");
  CHECK_NOTHROW(open_run_folder(files, "empty", false)); // a sweep that was killed before its first row
}

TEST_CASE("run folder: resuming keeps whole lines byte for byte and drops a torn one with a note (BUG-165, BUG-168)") {
  FakeFolders files;
  put(files, "out", line("a") + line("b") + "{\"torn\": ");
  cli::RunFolder folder = open_run_folder(files, "out", true);
  REQUIRE(folder.earlier.size() == 2);
  CHECK(folder.earlier[1].id == "b");
  CHECK(folder.notes.size() == 1);
  folder.writer.append(row("c"));
  CHECK(files.contents["out/records.jsonl"] == line("a") + line("b") + line("c"));

  put(files, "broken", line("a") + "{\"torn\": \n" + line("b"));
  CHECK(mentions(refusal_of([&] { open_run_folder(files, "broken", true); }), "line 2"));
  CHECK(open_run_folder(files, "fresh", true).earlier.empty());
}

TEST_CASE("run folder: without -o a fresh folder is numbered and resume takes the latest") {
  FakeFolders files;
  CHECK(open_run_folder(files, std::nullopt, false).path == "attnprof-out");
  put(files, "attnprof-out", line("a"));
  const cli::RunFolder second = open_run_folder(files, std::nullopt, false);
  CHECK(second.path == "attnprof-out-2");
  REQUIRE(second.notes.size() == 1);
  CHECK(second.notes[0].find("attnprof-out-2") != std::string::npos);
  CHECK(open_run_folder(files, std::nullopt, true).path == "attnprof-out");
  put(files, "attnprof-out-2", line("a"));
  CHECK(open_run_folder(files, std::nullopt, true).path == "attnprof-out-2");
  CHECK(open_run_folder(files, std::nullopt, false).path == "attnprof-out-3");
}

TEST_CASE("run folder: a path that cannot be made fails at once") {
  FakeFolders files;
  CHECK(mentions(refusal_of([&] { open_run_folder(files, "readonly", false); }), "readonly"));
}
