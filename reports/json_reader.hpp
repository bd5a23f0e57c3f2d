// Typed access to a JSON object: absent and null are the same, another type is an error that names the key.
#pragma once
#include "operators/core/param.hpp"
#include "reports/json_document.hpp"
#include "reports/record_json.hpp"

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::reports {

class JsonReader {
 public:
  /// Borrows the document of `node`. Throws operators::Error(kUsage) with `what` where it is not an object.
  JsonReader(JsonNode node, std::string what);
  /// Of a copy of `json`.
  JsonReader(const Json& json, std::string what);

  /// Absent where the key is absent or null.
  [[nodiscard]] std::optional<JsonNode> find(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;
  [[nodiscard]] std::optional<double> real(std::string_view key) const; ///< takes integers too
  [[nodiscard]] std::string text(std::string_view key) const;           ///< "" where absent
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  [[nodiscard]] std::vector<double> reals(std::string_view key) const;
  [[nodiscard]] std::optional<JsonReader> object(std::string_view key) const;
  /// Elements of an array of objects; empty where absent.
  [[nodiscard]] std::vector<JsonReader> objects(std::string_view key) const;
  /// As integer, but the key must be there.
  [[nodiscard]] std::int64_t needed_integer(std::string_view key) const;
  [[nodiscard]] std::string needed_text(std::string_view key) const;
  [[nodiscard]] JsonNode node() const { return node_; }

  [[noreturn]] void reject(std::string_view key, std::string_view wanted) const;

 private:
  JsonReader(JsonNode node, const JsonReader& parent);
  void require_object() const;
  [[nodiscard]] bool is_near(std::string_view key) const;
  [[nodiscard]] bool is_anywhere(std::string_view key) const;
  [[nodiscard]] std::string what() const;

  std::shared_ptr<const JsonDocument> owned_; ///< null where the document is borrowed
  JsonNode node_;
  JsonNode root_;                           ///< the outermost reader's
  std::shared_ptr<const std::string> what_; ///< what that is called
  /// Where the search for the next key begins: keys are asked for in about the order in which they were written.
  mutable JsonNode at_;
  /// A bit for each hash of a key that is there, once a key was not found in its place: most that are asked for then
  /// are not there at all.
  mutable std::optional<std::bitset<256>> keys_;
};

std::optional<std::int64_t> integer_of(JsonNode node);

} // namespace attnprof::reports
