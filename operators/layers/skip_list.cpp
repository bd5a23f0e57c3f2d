#include "operators/layers/skip_list.hpp"

#include "operators/core/error.hpp"

#include <charconv>
#include <fmt/format.h>
#include <set>

namespace attnprof::operators {
namespace {

/// Blocks named by the text; empty where it is not in the form.
std::set<std::int64_t> parse(std::string_view text) {
  std::set<std::int64_t> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::int64_t first = 0;
    auto read = std::from_chars(at, end, first);
    std::int64_t last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
    }
    const bool more = read.ptr != end && *read.ptr == ',' && read.ptr + 1 != end;
    if (read.ec != std::errc() || first < 0 || last < first || last > 100'000 || (read.ptr != end && !more)) {
      return {};
    }
    for (std::int64_t block = first; block <= last; ++block) {
      out.insert(block);
    }
    at = more ? read.ptr + 1 : end;
  }
  return out;
}

} // namespace

std::string canonical_skip(const std::string& text, std::int64_t depth) {
  const std::set<std::int64_t> blocks = parse(text);
  if (blocks.empty()) {
    throw Error(ErrorKind::kInvalid, fmt::format("--skip '{}' is not a list of blocks, such as 3-8 or 3,5,7,9", text));
  }
  if (*blocks.begin() == 0 || *blocks.rbegin() >= depth) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("--skip {} does not fit --depth {}: blocks count from 0, the first has nothing to "
                            "reuse, the last is {}",
                            text, depth, depth - 1));
  }
  const bool contiguous = static_cast<std::int64_t>(blocks.size()) == *blocks.rbegin() - *blocks.begin() + 1;
  return contiguous && blocks.size() > 1 ? fmt::format("{}-{}", *blocks.begin(), *blocks.rbegin())
                                         : fmt::format("{}", fmt::join(blocks, ","));
}

bool is_skipped(const std::string& canonical, std::int64_t block) {
  return parse(canonical).contains(block);
}

} // namespace attnprof::operators
