// records.jsonl: one record a line, flushed case by case, readable after a crash.
#pragma once
#include "profilers/record.hpp"
#include "reports/files.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::reports {

struct RecordLines {
  /// In the order of the file. Where an id occurs twice, the last line wins and keeps the place of the first.
  std::vector<profilers::Record> records;
  std::vector<std::string> notes; ///< sentences: a torn last line, replaced records
  std::size_t whole_bytes = 0;    ///< bytes up to the end of the last whole line; what lies beyond is torn
};

/// Reads the text of a records.jsonl. A last line without line end that does not parse is dropped with a note, since
/// only the tail can be torn; damage elsewhere throws operators::Error(kUsage) with `name` and the line number
/// (BUG-168).
RecordLines read_record_lines(std::string_view text, std::string_view name);

/// The same of a text that comes in pieces, which may end anywhere. The outcome does not depend on the pieces, nor on
/// how many threads read; faults are thrown by take or by finish.
class RecordLineReader {
 public:
  explicit RecordLineReader(std::string_view name, int threads = 1);
  ~RecordLineReader();
  RecordLineReader(const RecordLineReader&) = delete;
  RecordLineReader& operator=(const RecordLineReader&) = delete;
  void take(std::string_view piece);
  /// Once, after the last piece.
  RecordLines finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Appends records to a file, each on the disk before append returns.
class RecordWriter {
 public:
  /// Starts a new file, or replaces what is there.
  static RecordWriter create(Files& files, const std::filesystem::path& path);
  /// Continues a file after its last whole line; `existing` is filled with what is there. A missing file is empty.
  static RecordWriter resume(Files& files, const std::filesystem::path& path, RecordLines& existing);
  void append(const profilers::Record& record);

 private:
  explicit RecordWriter(std::unique_ptr<LineFile> lines) : lines_(std::move(lines)) {}
  std::unique_ptr<LineFile> lines_;
};

} // namespace attnprof::reports
