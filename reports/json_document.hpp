// A JSON text that is only read: one list of nodes in the order of the text, whose memory the next text uses again.
// nlohmann's documents allocate for every key and value, which took most of the time of reading ten thousand records.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::reports {

enum class JsonKind : std::uint8_t { kNull, kFlag, kInteger, kLargeInteger, kReal, kText, kArray, kObject };

class JsonDocument;

/// A value of a document, which it borrows.
class JsonNode {
 public:
  JsonNode(const JsonDocument& document, std::size_t index) : document_(&document), index_(index) {}

  [[nodiscard]] JsonKind kind() const;
  [[nodiscard]] bool is_number() const;
  [[nodiscard]] bool flag() const;
  [[nodiscard]] std::int64_t integer() const; ///< of kInteger
  [[nodiscard]] double real() const;          ///< of any number
  [[nodiscard]] std::string_view text() const;

  /// The first value of an array, the first key of an object, and what stands after this one; a key is a text whose
  /// value stands after it. Equal to end() where there is none.
  [[nodiscard]] JsonNode first() const { return {*document_, index_ + 1}; }
  [[nodiscard]] JsonNode next() const { return {*document_, after()}; }
  [[nodiscard]] JsonNode end() const { return {*document_, after()}; }
  [[nodiscard]] std::size_t size() const; ///< values of an array

  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] const JsonDocument& document() const { return *document_; }
  /// A copy that can be printed.
  [[nodiscard]] nlohmann::ordered_json copy() const;
  friend bool operator==(const JsonNode&, const JsonNode&) = default;

 private:
  [[nodiscard]] std::size_t after() const;

  const JsonDocument* document_;
  std::size_t index_;
};

class JsonDocument {
 public:
  JsonDocument() = default;
  explicit JsonDocument(const nlohmann::ordered_json& json);

  /// Of a document that holds a text.
  [[nodiscard]] JsonNode root() const { return {*this, 0}; }

  void clear();
  void add_null() { add(JsonKind::kNull); }
  void add_flag(bool value) { add(JsonKind::kFlag).integer = value ? 1 : 0; }
  void add_integer(std::int64_t value) { add(JsonKind::kInteger).integer = value; }
  void add_unsigned(std::uint64_t value);
  void add_real(double value) { add(JsonKind::kReal).real = value; }
  void add_text(std::string_view value);
  /// Without a copy: the text must stay where it is until the document is cleared.
  void add_borrowed_text(std::string_view value);
  /// Values and keys that follow are in it until it is closed.
  void open(JsonKind kind);
  void close();

 private:
  friend class JsonNode;
  struct Entry {
    JsonKind kind = JsonKind::kNull;
    std::uint32_t length = 0; ///< bytes of a text
    union {
      std::int64_t integer = 0;
      double real;
      const char* text;
      std::size_t end; ///< of an array or object: the entry after its last
    };
  };
  Entry& add(JsonKind kind) {
    if (count_ == entries_.size()) {
      entries_.resize(std::max<std::size_t>(1024, 2 * count_));
    }
    Entry& entry = entries_[count_++];
    entry.kind = kind;
    return entry;
  }
  void add_json(const nlohmann::ordered_json& json);

  std::vector<Entry> entries_; ///< the first count_ of them; they are written again for each text
  std::size_t count_ = 0;
  std::pmr::monotonic_buffer_resource texts_;
  std::vector<std::size_t> open_;
};

// Here, so that readers of thousands of records pass keys without calls.
inline JsonKind JsonNode::kind() const {
  return document_->entries_[index_].kind;
}
inline bool JsonNode::is_number() const {
  return kind() == JsonKind::kInteger || kind() == JsonKind::kLargeInteger || kind() == JsonKind::kReal;
}
inline bool JsonNode::flag() const {
  return document_->entries_[index_].integer != 0;
}
inline std::int64_t JsonNode::integer() const {
  return document_->entries_[index_].integer;
}
inline double JsonNode::real() const {
  const JsonDocument::Entry& entry = document_->entries_[index_];
  return entry.kind == JsonKind::kInteger ? static_cast<double>(entry.integer) : entry.real;
}
inline std::string_view JsonNode::text() const {
  const JsonDocument::Entry& entry = document_->entries_[index_];
  return {entry.text, entry.length};
}
inline std::size_t JsonNode::after() const {
  const JsonDocument::Entry& entry = document_->entries_[index_];
  return entry.kind == JsonKind::kArray || entry.kind == JsonKind::kObject ? entry.end : index_ + 1;
}

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
