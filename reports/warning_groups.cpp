#include "reports/warning_groups.hpp"

#include "reports/schema.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace attnprof::reports {
namespace {

constexpr std::size_t kNamedCases = 3;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The text with every number, its unit and the launch that it names left out: what two warnings of a kind share.
std::string words_of(const std::string& text) {
  static constexpr std::string_view kUnits[] = {"ns", "us", "ms", "s", "%", "B", "KiB", "MiB", "GiB"};
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    const std::string bare = word.substr(0, word.find_last_not_of(",;.:)") + 1);
    const bool is_unit = std::find(std::begin(kUnits), std::end(kUnits), bare) != std::end(kUnits) ||
                         bare.ends_with("B/s") || bare.ends_with("FLOP/s");
    const bool is_number = std::any_of(word.begin(), word.end(), is_digit) || word.find('/') != std::string::npos;
    out += is_unit ? "" : is_number ? "# " : word + " ";
    at = end + 1;
  }
  return out;
}

} // namespace

std::vector<WarningGroup> warning_groups(const std::vector<profilers::Record>& records) {
  std::vector<WarningGroup> groups;
  std::map<std::string, std::size_t> positions;
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (const std::string& warning : all_warnings(records[i])) {
      const auto [at, is_new] = positions.emplace(words_of(warning), groups.size());
      if (is_new) {
        groups.push_back({warning, false, {}});
      }
      WarningGroup& group = groups[at->second];
      group.numbers_differ = group.numbers_differ || group.text != warning;
      if (group.records.empty() || group.records.back() != i) {
        group.records.push_back(i);
      }
    }
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.records.size() > b.records.size(); });
  return groups;
}

std::string group_text(const WarningGroup& group, const std::vector<std::string>& names) {
  const std::size_t count = group.records.size();
  if (count == 1) {
    return fmt::format("{}: {}", names[group.records[0]], group.text);
  }
  std::vector<std::string> named;
  for (std::size_t i = 0; i < std::min(count, kNamedCases); ++i) {
    named.push_back(names[group.records[i]]);
  }
  return fmt::format("{} cases: {}{} ({}{})", count, group.text, group.numbers_differ ? "; numbers of the first" : "",
                     fmt::join(named, ", "),
                     count > kNamedCases ? fmt::format(", and {} more", count - kNamedCases) : "");
}

} // namespace attnprof::reports
