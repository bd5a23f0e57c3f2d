// Typed access to a JSON object: absent and null are the same, another type is an error that names the key.
#pragma once
#include "operators/core/param.hpp"
#include "reports/record_json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::reports {

class JsonReader {
 public:
  /// Borrows `json`. Throws operators::Error(kUsage) with `what` where it is not an object.
  JsonReader(const Json& json, std::string what);

  /// Null where the key is absent or null.
  [[nodiscard]] const Json* find(std::string_view key) const;
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
  [[nodiscard]] const Json& json() const { return json_; }
  [[nodiscard]] const std::string& what() const { return what_; }

  [[noreturn]] void reject(std::string_view key, std::string_view wanted) const;

 private:
  const Json& json_;
  std::string what_;
};

std::optional<std::int64_t> integer_of(const Json& json);

} // namespace attnprof::reports
