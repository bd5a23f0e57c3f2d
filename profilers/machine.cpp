#include "profilers/machine.hpp"

#include <algorithm>

namespace attnprof::profilers {
namespace {

Ceiling scaled(Ceiling one, int threads, const std::optional<Ceiling>& all) {
  const auto grow = [&](double value, double cap) { return std::min(value * threads, cap); };
  one.low = grow(one.low, all ? all->low : one.low * threads);
  one.high = grow(one.high, all ? all->high : one.high * threads);
  one.per_s = grow(one.per_s, all ? all->per_s : one.per_s * threads);
  one.origin = "scaled";
  return one;
}

// The best of the matching entries at a thread count, where `at` gives the best at a measured one.
template <typename Lookup>
std::optional<Ceiling> at_threads(const Machine& machine, int threads, const Lookup& best_at) {
  const int most = machine.environment.cores;
  if (threads < 1 || threads > most)
    return std::nullopt;
  if (auto exact = best_at(threads))
    return exact;
  const auto one = best_at(1);
  if (!one)
    return std::nullopt;
  return scaled(*one, threads, best_at(most));
}

struct LevelEnd {
  std::string level;
  std::int64_t capacity_bytes = 0;
};

// The ends of the caches at a measured thread count, smallest first.
std::vector<LevelEnd> ends_at(const Machine& machine, int threads) {
  std::vector<LevelEnd> ends;
  for (const MemoryLevel& entry : machine.levels)
    if (entry.threads == threads && entry.capacity_bytes)
      ends.push_back({entry.level, *entry.capacity_bytes});
  std::sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.capacity_bytes < b.capacity_bytes; });
  return ends;
}

// Between one thread and all, a capacity grows with the threads up to that of all: private caches add up, a shared one
// is the same at both ends.
std::vector<LevelEnd> ends_between(const Machine& machine, int threads) {
  std::vector<LevelEnd> ends = ends_at(machine, 1);
  const std::vector<LevelEnd> all = ends_at(machine, machine.environment.cores);
  for (LevelEnd& end : ends) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const auto& other) { return other.level == end.level; });
    if (same != all.end())
      end.capacity_bytes = std::min(end.capacity_bytes * threads, std::max(same->capacity_bytes, end.capacity_bytes));
  }
  return ends;
}

} // namespace

std::optional<Ceiling> compute_ceiling(const Machine& machine, std::string_view dtype, std::string_view unit,
                                       int threads, std::string_view isa) {
  return at_threads(machine, threads, [&](int count) {
    std::optional<Ceiling> best;
    for (const ComputeCeiling& entry : machine.compute)
      if (entry.dtype == dtype && entry.unit == unit && entry.threads == count && (isa.empty() || entry.isa == isa) &&
          (!best || entry.per_s > best->per_s))
        best = Ceiling{entry.per_s, entry.low, entry.high, entry.origin, entry.isa};
    return best;
  });
}

std::optional<Ceiling> bandwidth_ceiling(const Machine& machine, std::string_view level, int threads,
                                         std::string_view kind) {
  return at_threads(machine, threads, [&](int count) {
    std::optional<Ceiling> best;
    for (const BandwidthCeiling& entry : machine.bandwidth)
      if (entry.level == level && entry.threads == count && (kind.empty() || entry.kind == kind) &&
          (!best || entry.bytes_per_s > best->per_s))
        best = Ceiling{entry.bytes_per_s, entry.low, entry.high, entry.origin, entry.kind};
    return best;
  });
}

std::optional<double> launch_overhead_s(const Machine& machine, int threads) {
  const LaunchOverhead* best = nullptr;
  for (const LaunchOverhead& entry : machine.launch_overheads)
    if (entry.threads >= threads && (best == nullptr || entry.threads < best->threads))
      best = &entry;
  return best == nullptr ? std::nullopt : std::optional(best->time_s);
}

bool is_wide(double low, double ceiling) {
  return low > 0 && low < (1 - kWideSpread) * ceiling;
}

namespace {

constexpr std::string_view kMeasured = "measured";

/// `rate` names the member that is the ceiling.
template <typename Entry, typename Same>
void keep_best(std::vector<Entry>& newer, const std::vector<Entry>& earlier, double Entry::*rate, const Same& same) {
  for (const Entry& old : earlier) {
    if (old.origin != kMeasured)
      continue;
    const auto found = std::find_if(newer.begin(), newer.end(), [&](const Entry& one) { return same(one, old); });
    if (found == newer.end()) {
      newer.push_back(old);
      continue;
    }
    (*found).*rate = std::max((*found).*rate, old.*rate);
    found->low = std::min(found->low, old.low);
    found->high = std::max(found->high, old.high);
  }
}

} // namespace

Machine best_of(Machine newer, const Machine& earlier) {
  keep_best(newer.compute, earlier.compute, &ComputeCeiling::per_s,
            [](const ComputeCeiling& a, const ComputeCeiling& b) {
              return a.origin == b.origin && a.unit == b.unit && a.dtype == b.dtype && a.isa == b.isa &&
                     a.threads == b.threads;
            });
  std::erase_if(newer.absent, [&](const AbsentCeiling& absent) {
    return std::any_of(newer.compute.begin(), newer.compute.end(), [&](const ComputeCeiling& one) {
      return one.unit == absent.unit && one.dtype == absent.dtype && one.isa == absent.isa;
    });
  });
  // A bandwidth needs its level, which the newer measurement may have found otherwise.
  std::vector<BandwidthCeiling> placed;
  for (const BandwidthCeiling& old : earlier.bandwidth)
    if (std::any_of(newer.levels.begin(), newer.levels.end(),
                    [&](const MemoryLevel& level) { return level.level == old.level && level.threads == old.threads; }))
      placed.push_back(old);
  keep_best(newer.bandwidth, placed, &BandwidthCeiling::bytes_per_s,
            [](const BandwidthCeiling& a, const BandwidthCeiling& b) {
              return a.origin == b.origin && a.level == b.level && a.kind == b.kind && a.threads == b.threads;
            });
  for (LaunchOverhead& one : newer.launch_overheads)
    for (const LaunchOverhead& old : earlier.launch_overheads)
      if (old.threads == one.threads)
        one.time_s = std::min(one.time_s, old.time_s);
  if (std::find(newer.notes.begin(), newer.notes.end(), kBestOfNote) == newer.notes.end())
    newer.notes.emplace_back(kBestOfNote);
  return newer;
}

std::optional<std::string> level_for(const Machine& machine, std::int64_t working_set_bytes, int threads) {
  const int most = machine.environment.cores;
  if (machine.levels.empty() || threads < 1 || threads > most)
    return std::nullopt;
  const bool measured = std::any_of(machine.levels.begin(), machine.levels.end(),
                                    [&](const MemoryLevel& entry) { return entry.threads == threads; });
  for (const LevelEnd& end : measured ? ends_at(machine, threads) : ends_between(machine, threads))
    if (working_set_bytes <= end.capacity_bytes)
      return end.level;
  return "DRAM";
}

} // namespace attnprof::profilers
