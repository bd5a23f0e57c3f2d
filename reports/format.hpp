// Text of numbers, the same in every locale. For people (SI prefixes, few digits) and for machines (whole, exact).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::reports {

/// What stands where there is no value, in tables for people.
inline constexpr std::string_view kAbsentText = "-";

/// The shortest decimal text that reads back as exactly this value; empty for NaN and infinities (they are no numbers).
std::string exact(double value);
/// The same at the end of a text.
void append_exact(double value, std::string& out);

/// Three significant digits with an SI prefix: si(12.615e12, "FLOP/s") is "12.6 TFLOP/s", si(999999, "") is "1.00 M".
std::string si(double value, std::string_view unit);
std::string si(std::optional<double> value, std::string_view unit); ///< "-" where absent
/// Adaptive unit from ns to s, three significant digits, so that 3.2e-6 never prints as 0.0 (BUG-156).
std::string seconds(std::optional<double> value);
/// A ratio in per cent: 0.0642 is "6.4 %", 0.0004 is "0.04 %".
std::string percent(std::optional<double> ratio);
/// Four significant digits without exponent where it is short: intensities and other plain ratios.
std::string plain(std::optional<double> value);
/// Capacities in KiB and MiB.
std::string capacity(std::int64_t bytes);

/// Escapes & < > " ' and line ends for HTML and XML text and quoted attributes, where a bare line end would read back
/// as a blank; control characters that XML forbids, and bytes that are not UTF-8, become U+FFFD.
std::string escape_markup(std::string_view text);

/// Text of a Markdown cell or line, which cannot end it or become markup.
std::string escape_markdown(std::string_view text);

enum class Align { kLeft, kRight };
struct TextColumn {
  std::string header;
  Align align = Align::kRight;
};
/// Lines up cells by code points; two spaces between columns, no trailing blanks, "\n" after every line.
/// Every row has as many cells as there are columns.
std::string text_table(const std::vector<TextColumn>& columns, const std::vector<std::vector<std::string>>& rows);
/// The same as a Markdown table, every cell escaped.
std::string markdown_table(const std::vector<TextColumn>& columns, const std::vector<std::vector<std::string>>& rows);

} // namespace attnprof::reports
