#include "reports/json_document.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace attnprof::reports {

using Json = nlohmann::ordered_json;

double JsonNode::converted(std::string_view number) {
  double out = 0.0;
  std::from_chars(number.data(), number.data() + number.size(), out);
  return out;
}

std::size_t JsonNode::size() const {
  std::size_t out = 0;
  for (JsonNode value = first(); value != end(); value = value.next()) {
    ++out;
  }
  return out;
}

Json JsonNode::copy() const {
  switch (kind()) {
  case JsonKind::kNull: return nullptr;
  case JsonKind::kFlag: return flag();
  case JsonKind::kInteger: return integer();
  case JsonKind::kLargeInteger: return static_cast<std::uint64_t>(real());
  case JsonKind::kReal: return real();
  case JsonKind::kText: return std::string(text());
  case JsonKind::kArray: {
    Json out = Json::array();
    for (JsonNode value = first(); value != end(); value = value.next()) {
      out.push_back(value.copy());
    }
    return out;
  }
  case JsonKind::kObject: {
    Json out = Json::object();
    for (JsonNode key = first(); key != end(); key = key.next().next()) {
      out[std::string(key.text())] = key.next().copy();
    }
    return out;
  }
  }
  return nullptr;
}

JsonDocument::JsonDocument(const Json& json) {
  add_copy(json);
}

void JsonDocument::add_copy(const Json& json) {
  if (json.is_object()) {
    open(JsonKind::kObject);
    for (const auto& [key, value] : json.items()) {
      add(copied_text(key));
      add_copy(value);
    }
    close();
  } else if (json.is_array()) {
    open(JsonKind::kArray);
    for (const Json& value : json) {
      add_copy(value);
    }
    close();
  } else {
    add(copied(json));
  }
}

JsonEntry JsonDocument::copied(const Json& json) {
  if (json.is_string()) {
    return copied_text(json.get_ref<const std::string&>());
  }
  if (json.is_boolean()) {
    return JsonEntry::of_flag(json.get<bool>());
  }
  if (json.is_number_float()) {
    return JsonEntry::of_real(json.get<double>());
  }
  if (json.is_number_unsigned()) {
    const auto value = json.get<std::uint64_t>();
    return value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
               ? JsonEntry::of_real(static_cast<double>(value), JsonKind::kLargeInteger)
               : JsonEntry::of_integer(static_cast<std::int64_t>(value));
  }
  return json.is_number_integer() ? JsonEntry::of_integer(json.get<std::int64_t>()) : JsonEntry{};
}

JsonEntry JsonDocument::copied_text(std::string_view text) {
  auto* copy = static_cast<char*>(texts_.allocate(std::max<std::size_t>(text.size(), 1), 1));
  std::copy(text.begin(), text.end(), copy);
  return JsonEntry::of_text({copy, text.size()});
}

void JsonDocument::grow(std::size_t room) {
  auto larger = std::make_unique_for_overwrite<JsonEntry[]>(room);
  std::copy_n(entries_.get(), count_, larger.get());
  entries_ = std::move(larger);
  room_ = room;
}

void JsonDocument::clear() {
  count_ = 0;
  texts_.release();
  open_ = 0;
}

void JsonDocument::open(JsonKind kind) {
  JsonEntry entry{};
  entry.kind = kind;
  entry.outer = std::exchange(open_, count_);
  add(entry);
}

void JsonDocument::close() {
  JsonEntry& closed = entries_[open_];
  closed.length = static_cast<std::uint32_t>(count_ - open_);
  open_ = closed.outer;
}

} // namespace attnprof::reports
