#include "cli/axis.hpp"

#include "operators/core/error.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <limits>
#include <optional>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;
using operators::ParamKind;
using operators::ParamSpec;
using operators::Value;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') {
    text.remove_prefix(1);
  }
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

[[noreturn]] void refuse(const ParamSpec& spec, std::string_view item, const std::string& why) {
  throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is not a range: {}", spec.flag(), item, why));
}

/// A whole number with the suffix k; absent where the text is none or does not fit 64 bits.
std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t factor = 1;
  if (text.size() > 1 && (text.back() == 'k' || text.back() == 'K')) {
    text.remove_suffix(1);
    factor = 1024;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      value > std::numeric_limits<std::int64_t>::max() / 1024 || value < 0) {
    return std::nullopt;
  }
  return value * factor;
}

/// How a range goes on from one value to the next.
struct Stride {
  bool multiplies = false;
  std::int64_t amount = 0;
};

Stride parse_stride(const ParamSpec& spec, std::string_view item, std::string_view text) {
  Stride stride;
  std::string_view digits = text;
  if (!digits.empty() && digits.front() == '*') {
    stride.multiplies = true;
    digits.remove_prefix(1);
  }
  const std::optional<std::int64_t> amount = whole_number(digits);
  const std::int64_t least = stride.multiplies ? 2 : 1;
  if (!amount || *amount < least) {
    refuse(spec, item,
           stride.multiplies
               ? fmt::format("the factor '{}' must be a whole number of at least 2", text)
               : fmt::format("the step '{}' must be a whole number of at least 1, or *2 to multiply", text));
  }
  stride.amount = *amount;
  return stride;
}

void append(const ParamSpec& spec, Axis& axis, Value value) {
  if (std::find(axis.values.begin(), axis.values.end(), value) != axis.values.end()) {
    return;
  }
  if (axis.values.size() == kMaxAxisValues) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} lists more than {} values: use a larger step or a factor, such as *2", spec.flag(),
                            kMaxAxisValues));
  }
  axis.values.push_back(std::move(value));
}

void append_range(const ParamSpec& spec, std::string_view item, Axis& axis) {
  const std::vector<std::string_view> parts = split(item, ':');
  if (parts.size() > 3) {
    refuse(spec, item, "give begin:end:step or begin:end:*factor");
  }
  const auto bound = [&](std::string_view text) { return std::get<std::int64_t>(operators::parse_value(spec, text)); };
  const std::int64_t begin = bound(parts[0]);
  const std::int64_t end = bound(parts[1]);
  if (begin > end) {
    refuse(spec, item, fmt::format("it begins at {} and ends at {}, so it is empty; swap them", begin, end));
  }
  if (parts.size() == 2) {
    refuse(spec, item, fmt::format("it has no step; write {0}:1 for every value or {0}:*2 to double", item));
  }
  const Stride stride = parse_stride(spec, item, parts[2]);
  if (stride.multiplies && begin == 0) {
    refuse(spec, item, fmt::format("multiplying 0 never ends; write 0,1:{}", item.substr(parts[0].size() + 1)));
  }
  for (std::int64_t value = begin;;) {
    append(spec, axis, value);
    // The next value is computed only where it stays within `end`, so nothing can overflow.
    if (stride.multiplies ? value > end / stride.amount : value > end - stride.amount) {
      return;
    }
    value = stride.multiplies ? value * stride.amount : value + stride.amount;
  }
}

} // namespace

char list_separator(const ParamSpec& spec) {
  return spec.name == "skip" ? ';' : ',';
}

Axis parse_axis(const ParamSpec& spec, std::string_view text) {
  Axis axis{spec.name, {}};
  const std::vector<std::string_view> items = split(text, list_separator(spec));
  for (const std::string_view raw : items) {
    const std::string_view item = trimmed(raw);
    if (item.empty() && (items.size() > 1 || spec.kind != ParamKind::kFlag)) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("{} '{}' has an empty item: remove it or give a value", spec.flag(), text));
    }
    if (spec.kind == ParamKind::kInteger && item.find(':') != std::string_view::npos) {
      append_range(spec, item, axis);
    } else {
      append(spec, axis, operators::parse_value(spec, item));
    }
  }
  return axis;
}

} // namespace attnprof::cli
