// A JSON text that is only read: one list of nodes in the order of the text, whose memory the next text uses again.
// nlohmann's documents allocate for every key and value, which took most of the time of reading ten thousand records.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <memory_resource>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace attnprof::reports {

/// Of a text, as one word.
inline std::uint64_t eight_bytes(const char* at) {
  std::uint64_t out = 0;
  std::memcpy(&out, at, sizeof(out));
  return out;
}

enum class JsonKind : std::uint8_t { kNull, kFlag, kInteger, kLargeInteger, kReal, kText, kArray, kObject };

/// A value of a document, null unless it is set, or a key of one of its objects. Values stand one after the other;
/// those in an array or object follow it.
struct JsonEntry {
  JsonKind kind;
  /// Bytes of a text; of an array or object, the entries that it takes with all that is in it; else 0.
  std::uint32_t length;
  union {
    std::int64_t integer;
    double real;
    const char* text;
    std::size_t outer; ///< of an array or object while it is filled: the one that it is in
  };

  static JsonEntry of_flag(bool value) {
    JsonEntry out{};
    out.kind = JsonKind::kFlag;
    out.integer = value ? 1 : 0;
    return out;
  }
  static JsonEntry of_integer(std::int64_t value) {
    JsonEntry out{};
    out.kind = JsonKind::kInteger;
    out.integer = value;
    return out;
  }
  static JsonEntry of_unsigned(std::uint64_t value) {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return of_integer(static_cast<std::int64_t>(value));
    }
    JsonEntry out = of_real(static_cast<double>(value));
    out.kind = JsonKind::kLargeInteger;
    return out;
  }
  static JsonEntry of_real(double value) {
    JsonEntry out{};
    out.kind = JsonKind::kReal;
    out.real = value;
    return out;
  }
  /// Borrowed: the text must stay where it is until the document is cleared.
  static JsonEntry of_text(std::string_view value) {
    JsonEntry out{};
    out.kind = JsonKind::kText;
    out.length = static_cast<std::uint32_t>(value.size());
    out.text = value.data();
    return out;
  }
};

/// Borrows a value of a document.
class JsonNode {
 public:
  explicit JsonNode(const JsonEntry* entry) : entry_(entry) {}

  [[nodiscard]] JsonKind kind() const { return entry_->kind; }
  [[nodiscard]] bool is_number() const {
    return kind() == JsonKind::kInteger || kind() == JsonKind::kLargeInteger || kind() == JsonKind::kReal;
  }
  [[nodiscard]] bool flag() const { return entry_->integer != 0; }
  [[nodiscard]] std::int64_t integer() const { return entry_->integer; } ///< of kInteger
  [[nodiscard]] double real() const {                                    ///< of any number
    return kind() == JsonKind::kInteger ? static_cast<double>(entry_->integer) : entry_->real;
  }
  [[nodiscard]] std::string_view text() const { return {entry_->text, entry_->length}; }

  /// The first value of an array, the first key of an object, and what stands after this one; a key is a text whose
  /// value stands after it. Equal to end() where there is none.
  [[nodiscard]] JsonNode first() const { return JsonNode(entry_ + 1); }
  [[nodiscard]] JsonNode next() const {
    return JsonNode(entry_ + (kind() == JsonKind::kArray || kind() == JsonKind::kObject ? entry_->length : 1));
  }
  [[nodiscard]] JsonNode end() const { return next(); }
  [[nodiscard]] std::size_t size() const; ///< values of an array

  /// A copy that can be printed.
  [[nodiscard]] nlohmann::ordered_json copy() const;
  /// In the order of the text.
  friend auto operator<=>(const JsonNode&, const JsonNode&) = default;

 private:
  const JsonEntry* entry_;
};

class JsonDocument {
 public:
  JsonDocument() = default;
  explicit JsonDocument(const nlohmann::ordered_json& json);

  /// Of a document that holds a text.
  [[nodiscard]] JsonNode root() const { return JsonNode(entries_.get()); }

  void clear();
  void add(const JsonEntry& entry) {
    if (count_ == room_) {
      grow();
    }
    entries_[count_++] = entry;
  }
  void add_copied_text(std::string_view text);
  /// Values and keys that follow are in it until it is closed.
  void open(JsonKind kind);
  void close();

 private:
  void add_copy(const nlohmann::ordered_json& json);
  void grow();

  std::unique_ptr<JsonEntry[]> entries_; ///< the first count_ of them; they are written again for each text
  std::size_t room_ = 0;
  std::size_t count_ = 0;
  std::pmr::monotonic_buffer_resource texts_;
  std::size_t open_ = 0; ///< the innermost array or object that is not closed
};

/// Reads texts of strict JSON: with simdjson where the build has it, else, and for every text that simdjson refuses, by
/// nlohmann, so that both accept the same texts and explain faults in the same words.
class JsonParser {
 public:
  JsonParser();
  ~JsonParser();
  JsonParser(const JsonParser&) = delete;
  JsonParser& operator=(const JsonParser&) = delete;

  /// Replaces the document, which borrows its texts from this parser until that reads again. `readable` bytes from the
  /// begin of the text on may be looked at; where there are 64 more than the text has, it is not copied.
  /// Throws operators::Error(kUsage) with `what` and the position of the fault.
  void read(std::string_view text, std::string_view what, JsonDocument& out, std::size_t readable = 0);
  /// The same without simdjson.
  static void read_portably(std::string_view text, std::string_view what, JsonDocument& out);

 private:
  struct Fast;
  std::unique_ptr<Fast> fast_; ///< null where the build has none
};

} // namespace attnprof::reports
