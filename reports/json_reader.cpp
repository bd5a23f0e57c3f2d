#include "reports/json_reader.hpp"

#include "operators/core/error.hpp"

#include <fmt/format.h>

namespace attnprof::reports {

using operators::Error;
using operators::ErrorKind;

JsonReader::JsonReader(JsonNode node, std::string what)
    : node_(node), root_(node), what_(std::make_shared<const std::string>(std::move(what))), at_(node.first()) {
  require_object();
}

JsonReader::JsonReader(const Json& json, std::string what)
    : owned_(std::make_shared<const JsonDocument>(json)), node_(owned_->root()), root_(node_),
      what_(std::make_shared<const std::string>(std::move(what))), at_(node_.first()) {
  require_object();
}

JsonReader::JsonReader(JsonNode node, const JsonReader& parent)
    : owned_(parent.owned_), node_(node), root_(parent.root_), what_(parent.what_), at_(node.first()) {
  require_object();
}

void JsonReader::require_object() const {
  if (node_.kind() != JsonKind::kObject) {
    throw Error(ErrorKind::kUsage, fmt::format("{} is no JSON object but {}", what(), node_.copy().type_name()));
  }
}

/// "case 'x', kernels[3]": the way from the outermost object to this one, for the message of a fault.
std::string JsonReader::what() const {
  std::string out = *what_;
  JsonNode at = root_;
  while (at < node_) {
    const bool is_object = at.kind() == JsonKind::kObject;
    std::size_t count = 0;
    for (JsonNode part = at.first(); part != at.end(); part = part.next(), ++count) {
      const JsonNode value = is_object ? part.next() : part;
      if (node_ < value.end()) {
        out += is_object ? fmt::format(", {}", part.text()) : fmt::format("[{}]", count);
        at = value;
        break;
      }
      part = value;
    }
  }
  return out;
}

void JsonReader::reject(std::string_view key, std::string_view wanted) const {
  const std::optional<JsonNode> found = find(key);
  std::string value = found ? json_text(found->copy()) : "missing";
  if (value.size() > 60) {
    value = value.substr(0, 57) + "...";
  }
  throw Error(ErrorKind::kUsage, fmt::format("{}: '{}' is {}, expected {}", what(), key, value, wanted));
}

namespace {

std::size_t hash_of(std::string_view key) {
  if (key.empty()) {
    return 0;
  }
  const auto at = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(key[i])); };
  return (key.size() * 31 + at(0) * 7 + at(key.size() / 2) * 3 + at(key.size() - 1)) % 256;
}

/// As ==, without a call: most keys are short.
bool is_same(std::string_view a, std::string_view b) {
  const std::size_t size = a.size();
  if (size != b.size()) {
    return false;
  }
  if (size < 8) {
    std::size_t i = 0;
    while (i < size && a[i] == b[i]) {
      ++i;
    }
    return i == size;
  }
  for (std::size_t i = 0; i + 8 < size; i += 8) {
    if (eight_bytes(a.data() + i) != eight_bytes(b.data() + i)) {
      return false;
    }
  }
  return eight_bytes(a.data() + size - 8) == eight_bytes(b.data() + size - 8);
}

} // namespace

/// Moves `at_` to the key, if it is among the next few; some that are written are never asked for, and most of these
/// have another length.
bool JsonReader::is_near(std::string_view key) const {
  constexpr int kFew = 8;
  const JsonNode end = node_.end();
  JsonNode each = at_;
  for (int looked = 0; looked < kFew && each != end; ++looked, each = each.next().next()) {
    if (is_same(each.text(), key)) {
      at_ = each;
      return true;
    }
  }
  return false;
}

/// The same from the first key on.
bool JsonReader::is_anywhere(std::string_view key) const {
  const JsonNode end = node_.end();
  if (!keys_) {
    keys_.emplace();
    for (JsonNode each = node_.first(); each != end; each = each.next().next()) {
      keys_->set(hash_of(each.text()));
    }
  }
  if (!keys_->test(hash_of(key))) {
    return false;
  }
  for (JsonNode each = node_.first(); each != end; each = each.next().next()) {
    if (is_same(each.text(), key)) {
      at_ = each;
      return true;
    }
  }
  return false;
}

std::optional<JsonNode> JsonReader::find(std::string_view key) const {
  if (!is_near(key) && !is_anywhere(key)) {
    return std::nullopt;
  }
  const JsonNode value = at_.next();
  at_ = value.next();
  return value.kind() == JsonKind::kNull ? std::optional<JsonNode>() : value;
}

std::optional<std::int64_t> integer_of(JsonNode node) {
  return node.kind() == JsonKind::kInteger ? node.integer() : std::optional<std::int64_t>();
}

std::optional<std::int64_t> JsonReader::integer(std::string_view key) const {
  const std::optional<JsonNode> found = find(key);
  if (!found) {
    return {};
  }
  const auto value = integer_of(*found);
  if (!value) {
    reject(key, "a 64-bit integer");
  }
  return value;
}

std::optional<double> JsonReader::real(std::string_view key) const {
  const std::optional<JsonNode> found = find(key);
  if (!found) {
    return {};
  }
  if (!found->is_number()) {
    reject(key, "a number");
  }
  return found->real();
}

std::string JsonReader::text(std::string_view key) const {
  const std::optional<JsonNode> found = find(key);
  if (!found) {
    return {};
  }
  if (found->kind() != JsonKind::kText) {
    reject(key, "a text");
  }
  return std::string(found->text());
}

std::vector<std::string> JsonReader::texts(std::string_view key) const {
  const std::optional<JsonNode> found = find(key);
  std::vector<std::string> out;
  if (!found) {
    return out;
  }
  if (found->kind() != JsonKind::kArray) {
    reject(key, "a list of texts");
  }
  for (JsonNode entry = found->first(); entry != found->end(); entry = entry.next()) {
    if (entry.kind() != JsonKind::kText) {
      reject(key, "a list of texts");
    }
    out.emplace_back(entry.text());
  }
  return out;
}

std::vector<double> JsonReader::reals(std::string_view key) const {
  const std::optional<JsonNode> found = find(key);
  std::vector<double> out;
  if (!found) {
    return out;
  }
  if (found->kind() != JsonKind::kArray) {
    reject(key, "a list of numbers");
  }
  out.reserve(found->size());
  for (JsonNode entry = found->first(); entry != found->end(); entry = entry.next()) {
    if (!entry.is_number()) {
      reject(key, "a list of numbers");
    }
    out.push_back(entry.real());
  }
  return out;
}

std::optional<JsonReader> JsonReader::object(std::string_view key) const {
  const std::optional<JsonNode> found = find(key);
  return found ? JsonReader(*found, *this) : std::optional<JsonReader>();
}

std::vector<JsonReader> JsonReader::objects(std::string_view key) const {
  const std::optional<JsonNode> found = find(key);
  std::vector<JsonReader> out;
  if (!found) {
    return out;
  }
  if (found->kind() != JsonKind::kArray) {
    reject(key, "a list");
  }
  out.reserve(found->size());
  for (JsonNode entry = found->first(); entry != found->end(); entry = entry.next()) {
    out.push_back(JsonReader(entry, *this));
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
  const std::optional<JsonNode> found = find(key);
  if (!found || found->kind() != JsonKind::kText) {
    reject(key, "a text");
  }
  return std::string(found->text());
}

} // namespace attnprof::reports
