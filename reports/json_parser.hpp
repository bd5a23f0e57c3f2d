#pragma once
#include "reports/json_document.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace attnprof::reports {

/// Reads texts of strict JSON in one pass. Every byte is checked, but only what somebody asks for is converted: a line
/// of records.jsonl holds a thousand values, most of which follow from others and are never read. Words and numbers out
/// of the ordinary, and every text that is refused, go to nlohmann, so that both accept the same texts and explain
/// faults in the same words.
class JsonParser {
 public:
  /// Bytes beyond a text that may be looked at.
  static constexpr std::size_t kReadAhead = 16;

  /// Replaces the document, which borrows from `text`, or from this parser until that reads again. `readable` bytes
  /// from the begin of the text on may be looked at: where they hold a line end after it and kReadAhead bytes in all,
  /// the text is not copied. Throws operators::Error(kUsage) with `what` and the position of the fault.
  void read(std::string_view text, std::string_view what, JsonDocument& out, std::size_t readable = 0);
  /// The same by nlohmann alone.
  static void read_portably(std::string_view text, std::string_view what, JsonDocument& out);

 private:
  std::string copy_;
};

} // namespace attnprof::reports
