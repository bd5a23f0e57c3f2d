#include "cli/quantity.hpp"

#include "operators/core/error.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;

constexpr double kLongestDurationS = 30.0 * 24 * 3600;
constexpr std::int64_t kMostShards = 100'000;

[[noreturn]] void refuse(std::string_view flag, std::string_view text, const std::string& allowed) {
  throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is not valid: {}", flag, text, allowed));
}

template <class Number>
std::optional<Number> whole_text_as(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

} // namespace

double parse_duration_s(std::string_view flag, std::string_view text) {
  // Longer suffixes first: "ms" ends in "s".
  static constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{
      {{"ms", 1e-3}, {"us", 1e-6}, {"s", 1.0}, {"m", 60.0}, {"h", 3600.0}}};
  std::string_view number = text;
  double unit_s = 1.0;
  for (const auto& [suffix, seconds] : kUnits) {
    if (text.ends_with(suffix)) {
      number.remove_suffix(suffix.size());
      unit_s = seconds;
      break;
    }
  }
  const std::optional<double> value = whole_text_as<double>(number);
  if (!value || !std::isfinite(*value) || *value <= 0.0 || *value * unit_s > kLongestDurationS) {
    refuse(flag, text, "give a time such as 0.5, 10ms, 90s, 5m or 1h (a bare number is seconds), at most 30 days");
  }
  return *value * unit_s;
}

double parse_ratio(std::string_view flag, std::string_view text) {
  std::string_view number = text;
  double unit = 1.0;
  if (text.ends_with('%')) {
    number.remove_suffix(1);
    unit = 0.01;
  }
  const std::optional<double> value = whole_text_as<double>(number);
  if (!value || !std::isfinite(*value) || *value < 0.0 || (unit == 1.0 && *value >= 1.0) || *value > 10'000.0) {
    refuse(flag, text, "give a percentage such as 5%, or the same below 1, such as 0.05");
  }
  return *value * unit;
}

std::int64_t parse_count(std::string_view flag, std::string_view text, std::int64_t min, std::int64_t max) {
  const std::optional<std::int64_t> value = whole_text_as<std::int64_t>(text);
  if (!value || *value < min || *value > max) {
    refuse(flag, text, fmt::format("give a whole number from {} to {}", min, max));
  }
  return *value;
}

std::int64_t parse_bytes(std::string_view flag, std::string_view text) {
  std::string_view number = text;
  if (number.ends_with('B')) {
    number.remove_suffix(1);
  }
  double base = 1000.0;
  if (number.ends_with('i')) {
    number.remove_suffix(1);
    base = 1024.0;
  }
  constexpr std::string_view kPrefixes = "KMGT";
  double unit = 1.0;
  const char last = number.empty() ? ' ' : number.back() == 'k' ? 'K' : number.back();
  if (const std::size_t power = kPrefixes.find(last); power != std::string_view::npos) {
    unit = std::pow(base, static_cast<double>(power + 1));
    number.remove_suffix(1);
  }
  const std::optional<double> value = whole_text_as<double>(number);
  if (!value || !std::isfinite(*value) || *value * unit < 1.0 || *value * unit >= 0x1p60 || unit == 1.0) {
    refuse(flag, text, "give a memory such as 80GB, 24GiB or 512MiB");
  }
  return static_cast<std::int64_t>(*value * unit);
}

Shard parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<std::int64_t> index = whole_text_as<std::int64_t>(text.substr(0, slash));
  // Without a slash the count is read from nothing, which is not a number.
  const std::string_view after = slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
  const std::optional<std::int64_t> count = whole_text_as<std::int64_t>(after);
  if (!index || !count || *index < 1 || *count < *index || *count > kMostShards) {
    refuse("--shard", text, fmt::format("give I/N with I from 1 to N, such as 1/3, and N up to {}", kMostShards));
  }
  return {*index, *count};
}

} // namespace attnprof::cli
