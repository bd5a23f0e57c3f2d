#include "reports/record_file.hpp"

#include "operators/core/error.hpp"
#include "reports/record_json.hpp"
#include "reports/record_parser.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace attnprof::reports {

using operators::Error;
using operators::ErrorKind;
using profilers::Record;

namespace {

/// Adds a record, or puts it in the place of the one with its id.
void place(RecordLines& out, std::map<std::string, std::size_t>& positions, Record record, std::string_view name,
           std::size_t line_number) {
  const auto [at, is_new] = positions.emplace(record.id, out.records.size());
  if (is_new) {
    out.records.push_back(std::move(record));
    return;
  }
  out.notes.push_back(
      fmt::format("{} line {} replaces an earlier line of the case '{}'", name, line_number, record.id));
  out.records[at->second] = std::move(record);
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

} // namespace

RecordLines read_record_lines(std::string_view text, std::string_view name) {
  RecordLines out;
  std::map<std::string, std::size_t> positions;
  RecordParser parser;
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const bool is_whole = end != std::string_view::npos;
    const std::string_view line = text.substr(begin, is_whole ? end - begin : std::string_view::npos);
    ++line_number;
    try {
      if (!is_blank(line)) {
        place(out, positions, parser.read(line), name, line_number);
      }
    } catch (const Error& fault) {
      if (is_whole) {
        throw Error(ErrorKind::kUsage, fmt::format("{} line {}: {}", name, line_number, fault.what()));
      }
      out.notes.push_back(fmt::format("{} line {} was cut off while it was written and is dropped; its case runs again",
                                      name, line_number));
      break;
    }
    if (!is_whole) {
      break; // whole JSON without its line end: kept, but the writer starts it anew on a line of its own
    }
    begin = end + 1;
    out.whole_bytes = begin;
  }
  return out;
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
