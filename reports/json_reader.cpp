#include "reports/json_reader.hpp"

#include "operators/core/error.hpp"

#include <fmt/format.h>
#include <limits>

namespace attnprof::reports {

using operators::Error;
using operators::ErrorKind;

JsonReader::JsonReader(const Json& json, std::string what) : json_(json), what_(std::move(what)) {
  if (!json.is_object()) {
    throw Error(ErrorKind::kUsage, fmt::format("{} is no JSON object but {}", what_, json.type_name()));
  }
}

void JsonReader::reject(std::string_view key, std::string_view wanted) const {
  const Json* found = find(key);
  std::string value = found == nullptr ? "missing" : json_text(*found);
  if (value.size() > 60) {
    value = value.substr(0, 57) + "...";
  }
  throw Error(ErrorKind::kUsage, fmt::format("{}: '{}' is {}, expected {}", what_, key, value, wanted));
}

const Json* JsonReader::find(std::string_view key) const {
  const auto found = json_.find(std::string(key));
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::int64_t> integer_of(const Json& json) {
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return {};
  }
  return json.is_number_integer() ? json.get<std::int64_t>() : std::optional<std::int64_t>();
}

std::optional<std::int64_t> JsonReader::integer(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr) {
    return {};
  }
  const auto value = integer_of(*found);
  if (!value) {
    reject(key, "a 64-bit integer");
  }
  return value;
}

std::optional<double> JsonReader::real(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr) {
    return {};
  }
  if (!found->is_number()) {
    reject(key, "a number");
  }
  return found->get<double>();
}

std::string JsonReader::text(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr) {
    return {};
  }
  if (!found->is_string()) {
    reject(key, "a text");
  }
  return found->get<std::string>();
}

std::vector<std::string> JsonReader::texts(std::string_view key) const {
  const Json* found = find(key);
  std::vector<std::string> out;
  if (found == nullptr) {
    return out;
  }
  if (!found->is_array()) {
    reject(key, "a list of texts");
  }
  for (const Json& entry : *found) {
    if (!entry.is_string()) {
      reject(key, "a list of texts");
    }
    out.push_back(entry.get<std::string>());
  }
  return out;
}

std::vector<double> JsonReader::reals(std::string_view key) const {
  const Json* found = find(key);
  std::vector<double> out;
  if (found == nullptr) {
    return out;
  }
  if (!found->is_array()) {
    reject(key, "a list of numbers");
  }
  for (const Json& entry : *found) {
    if (!entry.is_number()) {
      reject(key, "a list of numbers");
    }
    out.push_back(entry.get<double>());
  }
  return out;
}

std::optional<JsonReader> JsonReader::object(std::string_view key) const {
  const Json* found = find(key);
  return found == nullptr ? std::optional<JsonReader>() : JsonReader(*found, fmt::format("{}, {}", what_, key));
}

std::vector<JsonReader> JsonReader::objects(std::string_view key) const {
  const Json* found = find(key);
  std::vector<JsonReader> out;
  if (found == nullptr) {
    return out;
  }
  if (!found->is_array()) {
    reject(key, "a list");
  }
  for (std::size_t i = 0; i < found->size(); ++i) {
    out.emplace_back((*found)[i], fmt::format("{}, {}[{}]", what_, key, i));
  }
  return out;
}

std::int64_t JsonReader::needed_integer(std::string_view key) const {
  const auto value = integer(key);
  if (!value) {
    reject(key, "a 64-bit integer");
  }
  return *value;
}

std::string JsonReader::needed_text(std::string_view key) const {
  if (find(key) == nullptr) {
    reject(key, "a text");
  }
  return text(key);
}

} // namespace attnprof::reports
