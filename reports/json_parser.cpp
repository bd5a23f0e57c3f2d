#include "reports/json_parser.hpp"

#include "operators/core/error.hpp"

#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace attnprof::reports {
namespace {

using Json = nlohmann::ordered_json;

/// What nlohmann's parser calls.
class Builder {
 public:
  explicit Builder(JsonDocument& out) : out_(out) {}

  bool null() { return out_.add(JsonEntry{}), true; }
  bool boolean(bool value) { return out_.add(JsonEntry::of_flag(value)), true; }
  bool number_integer(std::int64_t value) { return out_.add(JsonEntry::of_integer(value)), true; }
  bool number_unsigned(std::uint64_t value) { return out_.add(out_.copied(Json(value))), true; }
  bool number_float(double value, const std::string& /*text*/) { return out_.add(JsonEntry::of_real(value)), true; }
  bool string(const std::string& value) { return out_.add(out_.copied_text(value)), true; }
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

constexpr std::uint64_t in_each_byte(std::uint64_t byte) {
  return byte * 0x0101010101010101U;
}
constexpr std::uint64_t kTopBits = in_each_byte(0x80);

/// Whether a word of eight bytes holds any but plain ASCII: a quote, a backslash, a control character, or a byte of a
/// longer code point. The lowest top bit that is set is that of the first of them; those above may err.
std::uint64_t special_bytes(std::uint64_t word) {
  const auto zeros = [](std::uint64_t x) { return (x - in_each_byte(1)) & ~x; };
  return (zeros(word ^ in_each_byte('"')) | zeros(word ^ in_each_byte('\\')) | (word - in_each_byte(0x20)) | word) &
         kTopBits;
}

/// Each byte is 0x30 to 0x39: its upper half is 3, and stays 3 when 6 is added.
bool holds_eight_digits(const char* at) {
  const std::uint64_t word = eight_bytes(at);
  constexpr std::uint64_t kUpper = in_each_byte(0xF0);
  return ((word & kUpper) | (((word + in_each_byte(6)) & kUpper) >> 4U)) == in_each_byte(0x33);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20U;
}

/// Recursive descent; each function takes the place where something begins and returns where it ends, or null where it
/// is not JSON. The text is followed by a line end, at which every token ends by itself, so that only blanks are held
/// against the end of the text.
class Scanner {
 public:
  /// Writes the entries of the text from `out` on.
  Scanner(std::string_view text, JsonDocument& document, JsonEntry* out)
      : begin_(text.data()), end_(text.data() + text.size()), document_(document), out_(out) {}

  /// The most entries that are written for so many bytes: an element of an array takes two bytes with its comma, a key
  /// and its value five. Only brackets that nothing closes take one.
  static std::size_t most_entries(std::size_t bytes) { return bytes / 2 + kMostDepth + 4; }

  /// Past the last entry; null where the text is not JSON, or deeper than any record.
  JsonEntry* run() {
    const char* const at = value(begin_, 0);
    return at != nullptr && past_blanks(at) == end_ ? out_ : nullptr;
  }

 private:
  static constexpr std::size_t kMostDepth = 64;

  /// Records have no blanks.
  const char* past_blanks(const char* at) const {
    return static_cast<unsigned char>(*at) > ' ' ? at : past_some_blanks(at);
  }
  const char* past_some_blanks(const char* at) const {
    while (at != end_ && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
      ++at;
    }
    return at;
  }

  const char* value(const char* at, std::size_t depth) {
    at = past_blanks(at);
    switch (*at) {
    case '"': return text(at);
    case '{': return depth < kMostDepth ? object(at, depth + 1) : nullptr;
    case '[': return depth < kMostDepth ? array(at, depth + 1) : nullptr;
    case 'n': return word(at, "null", JsonEntry{});
    case 't': return word(at, "true", JsonEntry::of_flag(true));
    case 'f': return word(at, "false", JsonEntry::of_flag(false));
    default: return number(at);
    }
  }

  const char* word(const char* at, std::string_view expected, const JsonEntry& entry) {
    *out_++ = entry;
    return std::memcmp(at, expected.data(), expected.size()) == 0 ? at + expected.size() : nullptr;
  }

  const char* object(const char* at, std::size_t depth) {
    JsonEntry* const opened = open(JsonKind::kObject);
    at = past_blanks(at + 1);
    while (*at == '"') {
      at = text(at);
      if (at == nullptr || *(at = past_blanks(at)) != ':') {
        return nullptr;
      }
      at = value(at + 1, depth);
      if (at == nullptr) {
        return nullptr;
      }
      at = past_blanks(at);
      if (*at != ',') {
        return close(opened, at, '}');
      }
      at = past_blanks(at + 1);
    }
    return out_ == opened + 1 ? close(opened, at, '}') : nullptr;
  }

  const char* array(const char* at, std::size_t depth) {
    JsonEntry* const opened = open(JsonKind::kArray);
    at = past_blanks(at + 1);
    if (*at == ']') {
      return close(opened, at, ']');
    }
    for (;;) {
      at = value(at, depth);
      if (at == nullptr) {
        return nullptr;
      }
      at = past_blanks(at);
      if (*at != ',') {
        return close(opened, at, ']');
      }
      ++at;
    }
  }

  JsonEntry* open(JsonKind kind) {
    out_->kind = kind;
    return out_++;
  }
  const char* close(JsonEntry* opened, const char* at, char bracket) {
    opened->length = static_cast<std::uint32_t>(out_ - opened);
    return *at == bracket ? at + 1 : nullptr;
  }

  const char* text(const char* quote) {
    const char* at = quote + 1;
    bool is_plain = true;
    for (;;) {
      std::uint64_t special = special_bytes(eight_bytes(at));
      while (special == 0) {
        at += 8;
        special = special_bytes(eight_bytes(at));
      }
      at += first_of(special);
      if (*at == '"') {
        break;
      }
      const bool is_escape = *at == '\\';
      if (is_control(*at) || (is_escape && is_control(at[1]))) { // the end of the text must not be passed
        return nullptr;
      }
      is_plain = false;
      at += is_escape ? 2 : 1;
    }
    if (is_plain) {
      *out_++ = JsonEntry::of_text({quote + 1, static_cast<std::size_t>(at - quote - 1)});
      return at + 1;
    }
    return out_of_the_ordinary(quote, at + 1);
  }

  static int first_of(std::uint64_t special) {
    return (std::endian::native == std::endian::little ? std::countr_zero(special) : std::countl_zero(special)) / 8;
  }

  const char* number(const char* begin) {
    const char* const digits = begin + (*begin == '-' ? 1 : 0);
    const char* at = digits;
    std::uint64_t whole = 0;
    for (; is_digit(*at); ++at) {
      whole = whole * 10 + static_cast<std::uint64_t>(*at - '0');
    }
    const auto count = at - digits;
    if (count == 0 || (count > 1 && *digits == '0')) {
      return nullptr;
    }
    const bool fits = count < 19;
    if (*at != '.' && *at != 'e' && *at != 'E') {
      const auto magnitude = static_cast<std::int64_t>(whole);
      if (fits) {
        *out_++ = JsonEntry::of_integer(digits == begin ? magnitude : -magnitude);
      }
      return fits ? at : out_of_the_ordinary(begin, at);
    }
    return real(begin, at, fits);
  }

  /// From the end of the digits before the point on.
  const char* real(const char* begin, const char* at, bool fits) {
    if (*at == '.') {
      const char* const digits = ++at;
      while (holds_eight_digits(at)) {
        at += 8;
      }
      while (is_digit(*at)) {
        ++at;
      }
      if (at == digits) {
        return nullptr;
      }
    }
    if (*at == 'e' || *at == 'E') {
      ++at;
      at += *at == '-' || *at == '+' ? 1 : 0;
      const char* const digits = at;
      while (is_digit(*at)) {
        ++at;
      }
      if (at == digits) {
        return nullptr;
      }
      fits = fits && at - digits < 3; // neither too large nor too small
    }
    if (!fits || at - begin > 64) {
      return out_of_the_ordinary(begin, at);
    }
    *out_++ = JsonEntry::of_text({begin, static_cast<std::size_t>(at - begin)}, JsonKind::kReal);
    return at;
  }

  /// A text with escapes or beyond ASCII, or a number near the limits.
  const char* out_of_the_ordinary(const char* begin, const char* end) {
    const Json json = Json::parse(begin, end, nullptr, false);
    if (json.is_discarded()) {
      return nullptr;
    }
    *out_++ = document_.copied(json);
    return end;
  }

  const char* begin_;
  const char* end_;
  JsonDocument& document_;
  JsonEntry* out_;
};

} // namespace

void JsonParser::read(std::string_view text, std::string_view what, JsonDocument& out, std::size_t readable) {
  std::string_view here = text;
  if (readable < text.size() + kReadAhead || text.data()[text.size()] != '\n') {
    copy_.assign(text);
    copy_.append(kReadAhead, '\n');
    here = std::string_view(copy_).substr(0, text.size());
  }
  bool is_read = false;
  out.clear();
  out.fill(Scanner::most_entries(here.size()), [&](JsonEntry* first) {
    JsonEntry* const end = Scanner(here, out, first).run();
    is_read = end != nullptr;
    return is_read ? end : first;
  });
  if (!is_read) {
    read_portably(text, what, out);
  }
}

void JsonParser::read_portably(std::string_view text, std::string_view what, JsonDocument& out) {
  out.clear();
  Builder builder(out);
  if (!Json::sax_parse(text, &builder)) {
    throw operators::Error(operators::ErrorKind::kUsage, fmt::format("{} is no valid JSON{}", what, builder.fault()));
  }
}

} // namespace attnprof::reports
