#include "reports/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/compile.h>
#include <iterator>

namespace attnprof::reports {
namespace {

/// Three significant digits without exponent for 1 <= value < 1000.
std::string three_digits(double value) {
  if (value < 9.995) {
    return fmt::format("{:.2f}", value);
  }
  return value < 99.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD"; // U+FFFD

/// Bytes of the code point in front, which must be whole, shortest form and allowed in XML; 0 where it is not.
std::size_t code_point_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  const unsigned first = byte(0);
  if (first < 0x80U) {
    return 1;
  }
  const std::size_t length = first >= 0xF0U ? 4 : first >= 0xE0U ? 3 : 2;
  if (first < 0xC2U || first > 0xF4U || text.size() < length) {
    return 0;
  }
  std::uint32_t code = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      return 0;
    }
    code = code << 6U | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800U && code <= 0xDFFFU;
  return code < kLeast[length] || code > 0x10FFFFU || surrogate || code == 0xFFFEU || code == 0xFFFFU ? 0 : length;
}

void append_cell(std::string& line, const std::string& cell, std::size_t width, Align align) {
  const std::string blanks(width - code_points(cell), ' ');
  line += align == Align::kRight ? blanks + cell : cell + blanks;
}

void append_line(std::string& out, const std::vector<TextColumn>& columns, const std::vector<std::size_t>& widths,
                 const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    line += i == 0 ? "" : "  ";
    append_cell(line, cells[i], widths[i], columns[i].align);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + '\n';
}

} // namespace

std::string exact(double value) {
  std::string out;
  append_exact(value, out);
  return out;
}

void append_exact(double value, std::string& out) {
  constexpr double kWholeBelow = 1e15; // prints without an exponent, and is exact as an integer
  std::array<char, 32> text;           // 17 digits with sign, point and exponent are 24
  const char* end = text.data();
  if (value >= 1.0 && value < kWholeBelow && std::trunc(value) == value) {
    end = fmt::format_to(text.data(), FMT_COMPILE("{}"), static_cast<std::int64_t>(value));
  } else if (std::isfinite(value)) {
    end = fmt::format_to(text.data(), FMT_COMPILE("{}"), value);
  }
  out.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

std::string si(double value, std::string_view unit) {
  static constexpr std::array<std::string_view, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  if (!std::isfinite(value)) {
    return std::string(kAbsentText);
  }
  double scaled = std::abs(value);
  std::size_t prefix = 0;
  // 999.5 would print as "1000": it belongs to the next prefix.
  while (scaled >= 999.5 && prefix + 1 < kPrefixes.size()) {
    scaled /= 1000.0;
    ++prefix;
  }
  std::string number;
  if (scaled != 0.0 && scaled < 0.995) {
    number = fmt::format("{:.3g}", scaled);
  } else if (prefix == 0 && scaled == std::floor(scaled)) {
    number = fmt::format("{:.0f}", scaled);
  } else {
    number = three_digits(scaled);
  }
  std::string out = (value < 0 ? "-" : "") + number;
  if (prefix > 0 || !unit.empty()) {
    out += ' ';
  }
  return out.append(kPrefixes[prefix]).append(unit);
}

std::string si(std::optional<double> value, std::string_view unit) {
  return value ? si(*value, unit) : std::string(kAbsentText);
}

std::string seconds(std::optional<double> value) {
  struct Unit {
    double scale;
    std::string_view name;
  };
  static constexpr std::array<Unit, 4> kUnits = {{{1.0, "s"}, {1e3, "ms"}, {1e6, "us"}, {1e9, "ns"}}};
  if (!value || !std::isfinite(*value)) {
    return std::string(kAbsentText);
  }
  if (*value == 0.0) {
    return "0 s";
  }
  const double magnitude = std::abs(*value);
  for (const Unit& unit : kUnits) {
    const double scaled = magnitude * unit.scale;
    if (scaled >= 0.9995 || unit.name == "ns") {
      const std::string number = scaled < 0.9995 ? fmt::format("{:.3g}", scaled) : three_digits(scaled);
      return fmt::format("{}{} {}", *value < 0 ? "-" : "", number, unit.name);
    }
  }
  return std::string(kAbsentText);
}

std::string percent(std::optional<double> ratio) {
  if (!ratio || !std::isfinite(*ratio)) {
    return std::string(kAbsentText);
  }
  const double value = *ratio * 100.0;
  const double magnitude = std::abs(value);
  if (magnitude >= 99.95 || value == 0.0) {
    return fmt::format("{:.0f} %", value);
  }
  return magnitude < 0.095 ? fmt::format("{:.2g} %", value) : fmt::format("{:.1f} %", value);
}

std::string plain(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) {
    return std::string(kAbsentText);
  }
  const double magnitude = std::abs(*value);
  if (magnitude >= 1000.0 && magnitude < 1e7) {
    return fmt::format("{:.0f}", *value);
  }
  return fmt::format("{:.4g}", *value);
}

std::string capacity(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= std::int64_t{1} << 30) {
    return fmt::format("{:.4g} GiB", value / 1073741824.0);
  }
  if (bytes >= std::int64_t{1} << 20) {
    return fmt::format("{:.4g} MiB", value / 1048576.0);
  }
  return bytes >= 1024 ? fmt::format("{:.4g} KiB", value / 1024.0) : fmt::format("{} B", bytes);
}

std::string escape_markup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = code_point_bytes(text.substr(i));
    const char c = text[i];
    if (length > 1) {
      out += text.substr(i, length);
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += fmt::format("&#{};", static_cast<int>(c));
    } else if (length == 0 || static_cast<unsigned char>(c) < 0x20U) {
      out += kReplacement;
    } else {
      out += c;
    }
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::string escape_markdown(std::string_view text) {
  std::string out;
  for (const char c : text) { // an underscore within a word is no markup
    switch (c) {
    case '|':
    case '\\':
    case '`':
    case '*':
    case '[': out += '\\', out += c; break;
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '&': out += "&amp;"; break;
    case '\n':
    case '\r': out += ' '; break;
    default: out += c;
    }
  }
  return out;
}

std::string markdown_table(const std::vector<TextColumn>& columns, const std::vector<std::vector<std::string>>& rows) {
  const auto line = [](const auto& cells, const auto& text_of) {
    std::string out = "|";
    for (const auto& cell : cells) {
      out += fmt::format(" {} |", text_of(cell));
    }
    return out + "\n";
  };
  std::string out = line(columns, [](const TextColumn& column) { return escape_markdown(column.header); });
  out += line(columns, [](const TextColumn& column) { return column.align == Align::kLeft ? ":---" : "---:"; });
  for (const auto& row : rows) {
    out += line(row, [](const std::string& cell) { return escape_markdown(cell); });
  }
  return out;
}

std::string text_table(const std::vector<TextColumn>& columns, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  std::vector<std::string> headers;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t width = code_points(columns[i].header);
    for (const auto& row : rows) {
      width = std::max(width, code_points(row.at(i)));
    }
    widths.push_back(width);
    headers.push_back(columns[i].header);
  }
  std::string out;
  append_line(out, columns, widths, headers);
  for (const auto& row : rows) {
    append_line(out, columns, widths, row);
  }
  return out;
}

} // namespace attnprof::reports
