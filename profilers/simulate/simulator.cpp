#include "profilers/simulate/simulator.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <sstream>

namespace attnprof::profilers {
namespace {

constexpr std::int64_t kLeastWays = 8;
constexpr std::int64_t kMostWays = 64;

/// The rest of the line that begins with `label`.
std::optional<std::string> line_after(std::string_view text, const std::string& label) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(label))
      return line.substr(label.size());
  return std::nullopt;
}

void add(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& part, bool is_first) {
  sum = is_first ? part : sum && part ? std::optional(*sum + *part) : std::nullopt;
}

std::string size_text(const SimulatedCache& cache) {
  const bool whole_mib = cache.bytes % (std::int64_t{1} << 20) == 0;
  return fmt::format("{} {} in {} ways", cache.bytes >> (whole_mib ? 20 : 10), whole_mib ? "MiB" : "KiB", cache.ways);
}

} // namespace

std::string SimulatedCache::text() const {
  return fmt::format("{},{},{}", bytes, ways, line_bytes);
}

SimulatedCache simulated_cache(std::int64_t bytes, std::int64_t line_bytes) {
  const std::int64_t line = std::max<std::int64_t>(1, line_bytes);
  std::int64_t lines = std::max<std::int64_t>(kLeastWays, bytes / line);
  std::int64_t ways = lines;
  while (ways % 2 == 0 && ways / 2 >= kLeastWays)
    ways /= 2;
  if (ways > kMostWays) {
    lines = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(lines)));
    ways = kLeastWays;
  }
  return {lines * line, ways, line};
}

SimulatedCaches simulated_caches(const std::vector<CacheLevel>& levels) {
  if (levels.empty())
    return {simulated_cache(32 << 10, 64), simulated_cache(8 << 20, 64)};
  // Both levels of the simulator have one size of line.
  const std::int64_t line_bytes = levels.back().line_bytes;
  return {simulated_cache(levels.front().bytes, line_bytes), simulated_cache(levels.back().bytes, line_bytes)};
}

std::vector<std::string> valgrind_arguments(const SimulatedCaches& caches, const std::string& out_file) {
  return {"--tool=callgrind",
          "--cache-sim=yes",
          "--collect-atstart=no",
          fmt::format("--toggle-collect={}", kCountedLaunchSymbol),
          fmt::format("--dump-after={}", kCountedLaunchSymbol),
          "--D1=" + caches.first.text(),
          "--LL=" + caches.last.text(),
          "--callgrind-out-file=" + out_file};
}

std::optional<SimulatedCounts> parse_callgrind(std::string_view text, std::int64_t line_bytes) {
  const auto names = line_after(text, "events:");
  const auto totals = line_after(text, "totals:");
  if (!names || !totals)
    return std::nullopt;
  std::istringstream name_fields(*names);
  std::istringstream total_fields(*totals);
  std::map<std::string, std::int64_t> counts;
  for (std::string name; name_fields >> name;) {
    std::int64_t count = 0; // trailing zeros are not written
    if (!(total_fields >> count))
      count = 0;
    counts[name] = count;
  }
  const auto sum = [&](const char* a, const char* b) -> std::optional<std::int64_t> {
    if (!counts.contains(a) || !counts.contains(b))
      return std::nullopt;
    return counts[a] + counts[b];
  };
  SimulatedCounts out;
  if (const auto found = counts.find("Ir"); found != counts.end() && found->second > 0)
    out.instructions = found->second;
  else
    return std::nullopt; // a launch of no instruction was not seen at all
  out.l1_misses = sum("D1mr", "D1mw");
  out.llc_misses = sum("DLmr", "DLmw");
  if (out.llc_misses)
    out.dram_bytes = *out.llc_misses * line_bytes;
  return out;
}

SimulatedCounts total_of(const std::vector<SimulatedCounts>& launches) {
  SimulatedCounts out;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    add(out.instructions, launches[i].instructions, i == 0);
    add(out.l1_misses, launches[i].l1_misses, i == 0);
    add(out.llc_misses, launches[i].llc_misses, i == 0);
    add(out.dram_bytes, launches[i].dram_bytes, i == 0);
  }
  return out;
}

std::string simulation_text(const SimulatedCaches& caches) {
  return fmt::format("simulated: instructions, l1_misses, llc_misses by valgrind (the cache simulation of cachegrind: "
                     "first level {}, last level {}, lines of {} B, no prefetch) in one warm run on 1 thread, with the "
                     "widest kernels that it knows, at most AVX2; dram_bytes is llc_misses x {} B",
                     size_text(caches.first), size_text(caches.last), caches.last.line_bytes, caches.last.line_bytes);
}

} // namespace attnprof::profilers
