#include "reports/json_document.hpp"

#include "operators/core/error.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#ifdef ATTNPROF_SIMDJSON
#include <simdjson.h>
#endif

namespace attnprof::reports {

using Json = nlohmann::ordered_json;

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
      add_copied_text(key);
      add_copy(value);
    }
    close();
  } else if (json.is_array()) {
    open(JsonKind::kArray);
    for (const Json& value : json) {
      add_copy(value);
    }
    close();
  } else if (json.is_string()) {
    add_copied_text(json.get_ref<const std::string&>());
  } else if (json.is_boolean()) {
    add(JsonEntry::of_flag(json.get<bool>()));
  } else if (json.is_number_float()) {
    add(JsonEntry::of_real(json.get<double>()));
  } else if (json.is_number_unsigned()) {
    add(JsonEntry::of_unsigned(json.get<std::uint64_t>()));
  } else {
    add(json.is_number_integer() ? JsonEntry::of_integer(json.get<std::int64_t>()) : JsonEntry{});
  }
}

void JsonDocument::add_copied_text(std::string_view text) {
  auto* copy = static_cast<char*>(texts_.allocate(std::max<std::size_t>(text.size(), 1), 1));
  std::copy(text.begin(), text.end(), copy);
  add(JsonEntry::of_text({copy, text.size()}));
}

void JsonDocument::grow() {
  room_ = std::max<std::size_t>(1024, 2 * room_);
  auto larger = std::make_unique_for_overwrite<JsonEntry[]>(room_);
  std::copy_n(entries_.get(), count_, larger.get());
  entries_ = std::move(larger);
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

namespace {

/// What nlohmann's parser calls.
class Builder {
 public:
  explicit Builder(JsonDocument& out) : out_(out) {}

  bool null() { return out_.add(JsonEntry{}), true; }
  bool boolean(bool value) { return out_.add(JsonEntry::of_flag(value)), true; }
  bool number_integer(std::int64_t value) { return out_.add(JsonEntry::of_integer(value)), true; }
  bool number_unsigned(std::uint64_t value) { return out_.add(JsonEntry::of_unsigned(value)), true; }
  bool number_float(double value, const std::string& /*text*/) { return out_.add(JsonEntry::of_real(value)), true; }
  bool string(const std::string& value) { return out_.add_copied_text(value), true; }
  bool key(const std::string& value) { return string(value); }
  bool binary(const Json::binary_t& /*value*/) { return false; }
  bool start_object(std::size_t /*size*/) { return out_.open(JsonKind::kObject), true; }
  bool start_array(std::size_t /*size*/) { return out_.open(JsonKind::kArray), true; }
  bool end_object() { return out_.close(), true; }
  bool end_array() { return out_.close(), true; }
  bool parse_error(std::size_t byte, const std::string& /*token*/, const Json::parse_error& /*fault*/) {
    fault_ = fmt::format(" (fault at byte {})", byte);
    return false;
  }
  bool parse_error(std::size_t /*byte*/, const std::string& /*token*/, const Json::exception& fault) {
    fault_ = fmt::format(": {}", fault.what());
    return false;
  }
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  JsonDocument& out_;
  std::string fault_;
};

#ifdef ATTNPROF_SIMDJSON
void add(simdjson::dom::element value, JsonDocument& out) {
  using simdjson::dom::element_type;
  switch (value.type()) {
  case element_type::ARRAY: {
    const simdjson::dom::array array = value.get_array().value_unsafe();
    out.open(JsonKind::kArray);
    for (const simdjson::dom::element each : array) {
      add(each, out);
    }
    out.close();
    return;
  }
  case element_type::OBJECT: {
    const simdjson::dom::object object = value.get_object().value_unsafe();
    out.open(JsonKind::kObject);
    for (const simdjson::dom::key_value_pair each : object) {
      out.add(JsonEntry::of_text(each.key));
      add(each.value, out);
    }
    out.close();
    return;
  }
  case element_type::INT64: out.add(JsonEntry::of_integer(value.get_int64().value_unsafe())); return;
  case element_type::UINT64: out.add(JsonEntry::of_unsigned(value.get_uint64().value_unsafe())); return;
  case element_type::DOUBLE: out.add(JsonEntry::of_real(value.get_double().value_unsafe())); return;
  case element_type::STRING: out.add(JsonEntry::of_text(value.get_string().value_unsafe())); return;
  case element_type::BOOL: out.add(JsonEntry::of_flag(value.get_bool().value_unsafe())); return;
  case element_type::NULL_VALUE: out.add(JsonEntry{}); return;
  }
}
#endif

} // namespace

#ifdef ATTNPROF_SIMDJSON
struct JsonParser::Fast {
  simdjson::dom::parser parser;
};
JsonParser::JsonParser() : fast_(std::make_unique<Fast>()) {}
#else
struct JsonParser::Fast {};
JsonParser::JsonParser() = default;
#endif
JsonParser::~JsonParser() = default;

void JsonParser::read(std::string_view text, std::string_view what, JsonDocument& out,
                      [[maybe_unused]] std::size_t readable) {
#ifdef ATTNPROF_SIMDJSON
  simdjson::dom::element root;
  const bool is_copied = readable < text.size() + simdjson::SIMDJSON_PADDING;
  if (fast_->parser.parse(text.data(), text.size(), is_copied).get(root) == simdjson::SUCCESS) {
    out.clear();
    add(root, out);
    return;
  }
#endif
  read_portably(text, what, out);
}

void JsonParser::read_portably(std::string_view text, std::string_view what, JsonDocument& out) {
  out.clear();
  Builder builder(out);
  if (!Json::sax_parse(text, &builder)) {
    throw operators::Error(operators::ErrorKind::kUsage, fmt::format("{} is no valid JSON{}", what, builder.fault()));
  }
}

} // namespace attnprof::reports
