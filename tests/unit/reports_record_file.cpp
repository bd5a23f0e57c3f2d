#include "operators/core/error.hpp"
#include "reports/record_file.hpp"
#include "reports/record_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/allocations.hpp"
#include "tests/unit/reports_records.hpp"

using namespace attnprof;
using namespace attnprof::reports;
using Catch::Matchers::Contains;

TEST_CASE("BUG-166: each record is on the disk before the next case begins") {
  tests::FakeFiles files;
  RecordWriter writer = RecordWriter::create(files, "run/records.jsonl");
  writer.append(tests::derived_record());
  CHECK(files.flushes == 1);
  writer.append(tests::measured_record("gqa"));
  CHECK(files.flushes == 2);
  const RecordLines lines = read_record_lines(files.texts["run/records.jsonl"], "records.jsonl");
  REQUIRE(lines.records.size() == 2);
  CHECK(lines.records[1].config.text("variant") == "gqa");
  CHECK(lines.notes.empty());
  CHECK(lines.whole_bytes == files.texts["run/records.jsonl"].size());
}

TEST_CASE("BUG-168: a torn last line is dropped with a note, damage elsewhere names its line") {
  const std::string one = record_line(tests::measured_record("mha")) + "\n";
  const std::string two = record_line(tests::measured_record("gqa")) + "\n";
  const RecordLines torn = read_record_lines(one + two.substr(0, two.size() / 2), "r.jsonl");
  CHECK(torn.records.size() == 1);
  CHECK(torn.whole_bytes == one.size());
  REQUIRE(torn.notes.size() == 1);
  CHECK_THAT(torn.notes[0], Contains("r.jsonl line 2") && Contains("cut off"));
  CHECK_THROWS_WITH(read_record_lines(one + "{\"torn\": \n" + two, "r.jsonl"), Contains("r.jsonl line 2"));
  CHECK_THROWS_WITH(read_record_lines(one + "{\"torn\": \n", "r.jsonl"), Contains("r.jsonl line 2"));
  CHECK(read_record_lines("", "r.jsonl").records.empty());
}

TEST_CASE("records are read alike however the text is cut into pieces") {
  const std::string text = record_line(tests::measured_record("mha")) + "\n\n" +
                           record_line(tests::measured_record("gqa")) + "\r\n" + record_line(tests::derived_record()) +
                           "\n{\"torn\"";
  const RecordLines whole_text = read_record_lines(text, "r.jsonl");
  REQUIRE(whole_text.records.size() == 2); // the derived one is the first case again
  REQUIRE(whole_text.notes.size() == 2);
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{1000}, text.size() - 1}) {
    INFO(size);
    RecordLineReader reader("r.jsonl");
    for (std::size_t at = 0; at < text.size(); at += size) {
      reader.take(std::string_view(text).substr(at, size));
    }
    const RecordLines lines = reader.finish();
    CHECK(lines.notes == whole_text.notes);
    CHECK(lines.whole_bytes == whole_text.whole_bytes);
    REQUIRE(lines.records.size() == whole_text.records.size());
    for (std::size_t i = 0; i < lines.records.size(); ++i) {
      CHECK(record_line(lines.records[i]) == record_line(whole_text.records[i]));
    }
  }
}

TEST_CASE("resuming cuts the torn tail off and keeps every whole line as it is") {
  tests::FakeFiles files;
  const std::string one = record_line(tests::measured_record("mha")) + "\n";
  files.texts["r.jsonl"] = one + "{\"torn\": ";
  RecordLines existing;
  RecordWriter writer = RecordWriter::resume(files, "r.jsonl", existing);
  CHECK(existing.records.size() == 1);
  writer.append(tests::measured_record("gqa"));
  CHECK(files.texts["r.jsonl"] == one + record_line(tests::measured_record("gqa")) + "\n");
}

TEST_CASE("resuming completes a whole record that only lacks its line end") {
  tests::FakeFiles files;
  const std::string one = record_line(tests::measured_record("mha"));
  files.texts["r.jsonl"] = one;
  RecordLines existing;
  RecordWriter writer = RecordWriter::resume(files, "r.jsonl", existing);
  CHECK(existing.records.size() == 1);
  CHECK(files.texts["r.jsonl"] == one + "\n");
  RecordLines none;
  RecordWriter::resume(files, "new.jsonl", none);
  CHECK(none.records.empty());
}

TEST_CASE("the last line of a case wins, in the place of the first") {
  profilers::Record failed = tests::measured_record("mha");
  failed.status = profilers::Status::kFailed;
  failed.measured.reset();
  const std::string text = record_line(failed) + "\n" + record_line(tests::measured_record("gqa")) + "\n" +
                           record_line(tests::measured_record("mha")) + "\n";
  const RecordLines lines = read_record_lines(text, "r.jsonl");
  REQUIRE(lines.records.size() == 2);
  CHECK(lines.records[0].config.text("variant") == "mha");
  CHECK(lines.records[0].status == profilers::Status::kOk);
  REQUIRE(lines.notes.size() == 1);
  CHECK_THAT(lines.notes[0], Contains("line 3 replaces"));
}

namespace {

/// Lines of cases with ids of their own, so many bytes in all and a few more: several threads have something to do.
std::vector<std::string> many_lines(std::size_t bytes) {
  std::vector<std::string> out;
  profilers::Record record = tests::measured_record();
  for (std::size_t size = 0; size < bytes; size += out.back().size()) {
    record.id = "case " + std::to_string(out.size());
    record.threads = static_cast<int>(out.size());
    out.push_back(record_line(record) + "\n");
  }
  return out;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) {
    out += line;
  }
  return out;
}

RecordLines read_by(int threads, const std::string& text, std::size_t piece) {
  RecordLineReader reader("r.jsonl", threads);
  for (std::size_t at = 0; at < text.size(); at += piece) {
    reader.take(std::string_view(text).substr(at, piece));
  }
  return reader.finish();
}

/// What a reader says of a damaged text.
std::string fault_by(int threads, const std::string& text) {
  try {
    read_by(threads, text, 100'000);
  } catch (const operators::Error& fault) {
    return fault.what();
  }
  return "no fault";
}

} // namespace

TEST_CASE("records are read alike by any number of threads") {
  std::vector<std::string> lines = many_lines(5'000'000);
  REQUIRE(lines.size() > 500);
  lines[100] = "\n";
  lines[200] = lines[7];
  lines[lines.size() - 20] = lines[8];
  lines[300].insert(lines[300].size() - 1, "\r");
  lines.back().resize(lines.back().size() / 2);
  const std::string text = joined(lines);
  const RecordLines alone = read_by(1, text, text.size());
  REQUIRE(alone.records.size() == lines.size() - 4);
  REQUIRE(alone.notes.size() == 3);
  CHECK_THAT(alone.notes[0], Contains("r.jsonl line 201 replaces an earlier line of the case 'case 7'"));
  CHECK_THAT(alone.notes[2], Contains("line " + std::to_string(lines.size())) && Contains("cut off"));
  for (const int threads : {1, 2, 3, 8}) {
    for (const std::size_t piece : {std::size_t{4'000}, std::size_t{1'000'000}, text.size()}) {
      INFO(threads << " threads, pieces of " << piece);
      const RecordLines several = read_by(threads, text, piece);
      CHECK(several.notes == alone.notes);
      CHECK(several.whole_bytes == alone.whole_bytes);
      REQUIRE(several.records.size() == alone.records.size());
      bool all_alike = true;
      for (std::size_t i = 0; i < alone.records.size(); ++i) {
        all_alike = all_alike && several.records[i].id == alone.records[i].id &&
                    several.records[i].threads == alone.records[i].threads;
      }
      CHECK(all_alike);
      CHECK(record_line(several.records.back()) == record_line(alone.records.back()));
    }
  }
}

TEST_CASE("of several damaged lines any number of threads names the first, in the same words") {
  const std::vector<std::string> whole = many_lines(5'000'000);
  const std::vector<std::pair<std::size_t, std::string>> damages = {
      {3, "{\"torn\": \n"}, {250, "[1]\n"}, {whole.size() - 3, "{\"schema_version\":1,\"id\":\"x\",\"status\":7}\n"}};
  for (std::size_t first = 0; first < damages.size(); ++first) {
    std::vector<std::string> lines = whole;
    for (std::size_t i = first; i < damages.size(); ++i) {
      lines[damages[i].first] = damages[i].second;
    }
    const std::string text = joined(lines);
    const std::string fault = fault_by(1, text);
    CHECK_THAT(fault, Contains("r.jsonl line " + std::to_string(damages[first].first + 1) + ": "));
    for (const int threads : {2, 3, 8}) {
      CHECK(fault_by(threads, text) == fault);
    }
  }
}

TEST_CASE("a record takes a bounded number of allocations to read") {
#if defined(__SANITIZE_ADDRESS__)
  return;
#endif
  const std::vector<std::string> lines = many_lines(600'000);
  const auto allocations_of = [&](std::size_t count) {
    const std::string text = joined({lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(count)});
    const std::int64_t before = tests::allocations;
    CHECK(read_by(1, text, text.size()).records.size() == count);
    return tests::allocations - before;
  };
  allocations_of(16); // what is made once a process
  const double each = static_cast<double>(allocations_of(80) - allocations_of(16)) / 64.0;
  INFO(each);
  CHECK(each <= 40.0);
}
