#pragma once
#include "profilers/record.hpp"
#include "reports/json_document.hpp"

#include <string_view>

namespace attnprof::reports {

/// Reads lines of records.jsonl one after the other, in memory that each uses again.
class RecordParser {
 public:
  /// As record_from_line. `readable`: as of JsonParser::read.
  profilers::Record read(std::string_view line, std::size_t readable = 0);

 private:
  JsonParser parser_;
  JsonDocument document_;
};

} // namespace attnprof::reports
