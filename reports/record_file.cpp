#include "reports/record_file.hpp"

#include "operators/core/error.hpp"
#include "reports/concurrent.hpp"
#include "reports/record_json.hpp"
#include "reports/record_parser.hpp"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <optional>
#include <unordered_map>
#include <utility>

namespace attnprof::reports {

using operators::Error;
using operators::ErrorKind;
using profilers::Record;

namespace {

/// About so many bytes are read by a thread at a time.
constexpr std::size_t kBatchBytes = std::size_t{1} << 20U;

/// By find, which looks at 32 bytes at once; std::count does not.
std::size_t line_ends(std::string_view text) {
  std::size_t out = 0;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    ++out;
  }
  return out;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

} // namespace

struct RecordLineReader::State {
  /// What was read from whole lines.
  struct Batch {
    struct Entry {
      std::size_t line; ///< from 1 in the batch
      Record record;
    };
    std::vector<Entry> entries;
    std::size_t bytes = 0;
    std::size_t lines = 0;            ///< none is read after a fault
    std::optional<std::string> fault; ///< of the last line
  };

  struct Reading {
    std::unique_ptr<RecordParser> parser;
    std::future<Batch> batch; ///< the last member, so that it is waited for first
  };

  std::string name;
  int threads = 1;
  RecordLines out;
  std::unordered_map<std::string, std::size_t> positions; ///< of ids in out.records
  std::size_t lines = 0;                                  ///< that `out` holds
  std::string begun;                                      ///< what was taken and is in no batch yet
  std::vector<std::unique_ptr<RecordParser>> idle;        ///< parsers that no batch uses now; they keep their memory
  std::deque<Reading> batches;                            ///< in the order of the file

  static Batch read_batch(std::string_view text, RecordParser& parser);

  std::unique_ptr<RecordParser> take_parser() {
    if (idle.empty()) {
      return std::make_unique<RecordParser>();
    }
    std::unique_ptr<RecordParser> parser = std::move(idle.back());
    idle.pop_back();
    return parser;
  }

  void read_here(std::string_view text) {
    std::unique_ptr<RecordParser> parser = take_parser();
    place(read_batch(text, *parser));
    idle.push_back(std::move(parser));
  }

  /// Reads whole lines, or begins to.
  void read(std::string text) {
    if (threads <= 1 || (batches.empty() && text.size() < kBatchBytes)) {
      read_here(text);
      return;
    }
    Reading reading{take_parser(), {}};
    reading.batch = begin_beside(
        threads, [text = std::move(text), parser = reading.parser.get()] { return read_batch(text, *parser); });
    batches.push_back(std::move(reading));
    if (batches.size() > static_cast<std::size_t>(threads)) {
      place_first();
    }
  }

  /// Reads the lines that a piece ends, in their place.
  void take_here(std::string_view piece) {
    const std::size_t first_end = begun.empty() ? std::string_view::npos : piece.find('\n');
    if (first_end != std::string_view::npos) {
      begun += piece.substr(0, first_end + 1);
      read_here(std::exchange(begun, {}));
      piece.remove_prefix(first_end + 1);
    }
    const std::size_t last_end = begun.empty() ? piece.rfind('\n') : std::string_view::npos;
    if (last_end != std::string_view::npos) {
      read_here(piece.substr(0, last_end + 1));
      piece.remove_prefix(last_end + 1);
    }
    begun += piece;
  }

  void place_first() {
    Reading first = std::move(batches.front());
    batches.pop_front();
    Batch batch = first.batch.get();
    idle.push_back(std::move(first.parser));
    place(std::move(batch));
  }

  void place(Batch batch) {
    for (Batch::Entry& entry : batch.entries) {
      place(std::move(entry.record), lines + entry.line);
    }
    lines += batch.lines;
    if (batch.fault) {
      throw Error(ErrorKind::kUsage, fmt::format("{} line {}: {}", name, lines, *batch.fault));
    }
    out.whole_bytes += batch.bytes;
  }

  /// Adds a record, or puts it in the place of the one with its id.
  void place(Record record, std::size_t line) {
    const auto [at, is_new] = positions.emplace(record.id, out.records.size());
    if (is_new) {
      out.records.push_back(std::move(record));
      return;
    }
    out.notes.push_back(fmt::format("{} line {} replaces an earlier line of the case '{}'", name, line, record.id));
    out.records[at->second] = std::move(record);
  }
};

RecordLineReader::State::Batch RecordLineReader::State::read_batch(std::string_view text, RecordParser& parser) {
  Batch out;
  out.entries.reserve(line_ends(text));
  while (!text.empty() && !out.fault) {
    const std::string_view line = text.substr(0, text.find('\n'));
    ++out.lines;
    try {
      if (!is_blank(line)) {
        out.entries.push_back({out.lines, parser.read(line, text.size())});
      }
    } catch (const Error& fault) {
      out.fault = fault.what();
    }
    out.bytes += line.size() + 1;
    text.remove_prefix(line.size() + 1);
  }
  return out;
}

RecordLineReader::RecordLineReader(std::string_view name, int threads) : state_(std::make_unique<State>()) {
  state_->name = name;
  state_->threads = threads;
}
RecordLineReader::~RecordLineReader() = default;

void RecordLineReader::take(std::string_view piece) {
  if (state_->threads <= 1) {
    state_->take_here(piece);
    return;
  }
  std::string& begun = state_->begun;
  const std::size_t last_end = piece.rfind('\n');
  if (last_end == std::string_view::npos || begun.size() + piece.size() < kBatchBytes) {
    begun += piece;
    return;
  }
  begun += piece.substr(0, last_end + 1);
  std::string rest(piece.substr(last_end + 1));
  rest.reserve(kBatchBytes + kBatchBytes / 8);
  state_->read(std::exchange(begun, std::move(rest)));
}

RecordLines RecordLineReader::finish() {
  State& state = *state_;
  const std::size_t last_end = state.begun.rfind('\n');
  const std::string tail = state.begun.substr(last_end == std::string::npos ? 0 : last_end + 1);
  state.begun.resize(state.begun.size() - tail.size());
  state.read(std::move(state.begun));
  while (!state.batches.empty()) {
    state.place_first();
  }
  try {
    if (!is_blank(tail)) {
      state.place(record_from_line(tail), state.lines + 1); // without its line end; the writer starts that anew
    }
  } catch (const Error&) {
    state.out.notes.push_back(fmt::format("{} line {} was cut off while it was written and is dropped; its case runs "
                                          "again",
                                          state.name, state.lines + 1));
  }
  return std::move(state.out);
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
