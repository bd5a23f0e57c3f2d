#include "reports/record_file.hpp"

#include "operators/core/error.hpp"
#include "reports/record_json.hpp"
#include "reports/record_parser.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

namespace attnprof::reports {

using operators::Error;
using operators::ErrorKind;
using profilers::Record;

namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

} // namespace

struct RecordLineReader::State {
  std::string name;
  RecordLines out;
  std::unordered_map<std::string, std::size_t> positions; ///< of ids in out.records
  RecordParser parser;
  std::string begun; ///< of the line that the pieces so far leave open
  std::size_t line_number = 0;

  /// `readable`: as of JsonParser::read.
  void read(std::string_view line, std::size_t readable) {
    if (!is_blank(line)) {
      place(parser.read(line, readable));
    }
  }

  /// Adds a record, or puts it in the place of the one with its id.
  void place(Record record) {
    const auto [at, is_new] = positions.emplace(record.id, out.records.size());
    if (is_new) {
      out.records.push_back(std::move(record));
      return;
    }
    out.notes.push_back(
        fmt::format("{} line {} replaces an earlier line of the case '{}'", name, line_number, record.id));
    out.records[at->second] = std::move(record);
  }

  void read_whole(std::string_view line, std::size_t readable) {
    ++line_number;
    try {
      read(line, readable);
    } catch (const Error& fault) {
      throw Error(ErrorKind::kUsage, fmt::format("{} line {}: {}", name, line_number, fault.what()));
    }
    out.whole_bytes += line.size() + 1;
  }
};

RecordLineReader::RecordLineReader(std::string_view name) : state_(std::make_unique<State>()) {
  state_->name = name;
}
RecordLineReader::~RecordLineReader() = default;

void RecordLineReader::take(std::string_view piece) {
  for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    if (state_->begun.empty()) {
      state_->read_whole(piece.substr(0, end), piece.size());
    } else {
      state_->begun += piece.substr(0, end);
      state_->read_whole(state_->begun, 0);
      state_->begun.clear();
    }
    piece.remove_prefix(end + 1);
  }
  state_->begun += piece;
}

RecordLines RecordLineReader::finish() {
  ++state_->line_number;
  try {
    state_->read(state_->begun, 0); // whole JSON without its line end is kept; the writer starts it anew
  } catch (const Error&) {
    state_->out.notes.push_back(fmt::format("{} line {} was cut off while it was written and is dropped; its case runs "
                                            "again",
                                            state_->name, state_->line_number));
  }
  return std::move(state_->out);
}

RecordLines read_record_lines(std::string_view text, std::string_view name) {
  RecordLineReader reader(name);
  reader.take(text);
  return reader.finish();
}

RecordWriter RecordWriter::create(Files& files, const std::filesystem::path& path) {
  return RecordWriter(files.open_lines(path, 0));
}

RecordWriter RecordWriter::resume(Files& files, const std::filesystem::path& path, RecordLines& existing) {
  const std::string text = files.read(path).value_or("");
  existing = read_record_lines(text, path.string());
  const bool last_lacks_its_end = !text.empty() && text.back() != '\n';
  RecordWriter writer(files.open_lines(path, existing.whole_bytes));
  if (last_lacks_its_end && existing.whole_bytes < text.size()) {
    const std::string_view tail = std::string_view(text).substr(existing.whole_bytes);
    try {
      static_cast<void>(record_from_line(tail));
    } catch (const Error&) {
      return writer; // torn: read_record_lines noted it
    }
    writer.lines_->append(tail);
  }
  return writer;
}

void RecordWriter::append(const Record& record) {
  lines_->append(record_line(record));
}

} // namespace attnprof::reports
