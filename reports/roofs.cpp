#include "reports/roofs.hpp"

#include "operators/core/product_math.hpp"
#include "reports/format.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace attnprof::reports {
namespace {

using profilers::BandwidthCeiling;
using profilers::Ceiling;
using profilers::ComputeCeiling;
using profilers::Machine;
using profilers::Record;

std::string dtype_of(const Record& record) {
  return operators::product_dtype_of(record.config);
}

/// Threads that ran; else those asked for; else all. Never more than the machine runs at once: more threads share them.
int threads_of(const Machine& machine, const Record& record) {
  std::int64_t threads = record.threads;
  if (threads <= 0) {
    threads = record.config.integer_or("threads", machine.environment.cores);
  }
  return static_cast<int>(std::clamp<std::int64_t>(threads, 1, std::max(1, machine.environment.cores)));
}

std::string threads_text(int threads) {
  return threads == 1 ? "1 thread" : fmt::format("{} threads", threads);
}

/// Machine files of hand-made ceilings hold 0 where nobody measured a spread.
std::optional<double> spread_end(double per_s) {
  return per_s > 0.0 ? std::optional(per_s) : std::nullopt;
}

/// The fastest of several units; absent where none is known.
std::optional<UnitRoof> fastest(const Machine& machine,
                                std::initializer_list<std::pair<const char*, const char*>> units, int threads) {
  std::optional<UnitRoof> best;
  for (const auto& [dtype, unit] : units) {
    const auto ceiling = profilers::compute_ceiling(machine, dtype, unit, threads);
    if (ceiling && ceiling->per_s > 0.0 && (!best || ceiling->per_s > best->per_s)) {
      best = UnitRoof{
          ceiling->per_s,
          fmt::format("{} {}{}{}, {}", unit, dtype, ceiling->by.empty() ? "" : " ", ceiling->by, threads_text(threads)),
          ceiling->origin, spread_end(ceiling->low), spread_end(ceiling->high)};
    }
  }
  return best;
}

std::optional<UnitRoof> given_peak(const Machine& machine) {
  const auto given = std::find_if(machine.compute.begin(), machine.compute.end(),
                                  [](const ComputeCeiling& entry) { return entry.origin == kGivenOrigin; });
  if (given == machine.compute.end()) {
    return {};
  }
  return UnitRoof{given->per_s, "given peak", std::string(kGivenOrigin)};
}

/// Largest working set that still lies in the first `rank` levels.
std::optional<std::int64_t> capacity_through(const Machine& machine, const std::vector<std::string>& levels,
                                             std::size_t rank, int threads) {
  const auto within = [&](std::int64_t bytes) {
    const auto level = profilers::level_for(machine, bytes, threads);
    const auto at = level ? std::find(levels.begin(), levels.end(), *level) : levels.end();
    return at != levels.end() && static_cast<std::size_t>(at - levels.begin()) <= rank;
  };
  std::int64_t fits = 0;
  std::int64_t too_large = std::int64_t{1} << 60;
  if (!within(fits) || within(too_large)) {
    return {};
  }
  while (too_large - fits > 1) {
    const std::int64_t middle = fits + (too_large - fits) / 2;
    (within(middle) ? fits : too_large) = middle;
  }
  return fits;
}

/// Names of the levels with a bandwidth, nearest first, DRAM last.
std::vector<std::string> level_names(const Machine& machine) {
  std::vector<std::string> names;
  for (const BandwidthCeiling& entry : machine.bandwidth) {
    if (std::find(names.begin(), names.end(), entry.level) == names.end()) {
      names.push_back(entry.level);
    }
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a == "DRAM", a) < std::pair(b == "DRAM", b);
  });
  return names;
}

/// "any" stands for every kind.
constexpr std::string_view kAnyTraffic = "any";

std::vector<TrafficRoof> kinds_of(const Machine& machine, const std::string& level, int threads) {
  std::vector<std::string> names;
  for (const BandwidthCeiling& entry : machine.bandwidth) {
    if (entry.level == level && entry.origin != kGivenOrigin &&
        std::find(names.begin(), names.end(), entry.kind) == names.end()) {
      names.push_back(entry.kind);
    }
  }
  std::vector<TrafficRoof> out;
  for (const std::string& kind : names) {
    const auto ceiling = profilers::bandwidth_ceiling(machine, level, threads, kind);
    if (ceiling && ceiling->per_s > 0.0) {
      out.push_back({kind == kAnyTraffic ? std::string() : kind, ceiling->per_s, ceiling->origin,
                     spread_end(ceiling->low), spread_end(ceiling->high)});
    }
  }
  return out;
}

/// Written bytes of all bytes that a kind of traffic moves; absent where it may be any.
std::optional<double> written_share(std::string_view traffic) {
  if (traffic.ends_with("_nt")) {
    traffic.remove_suffix(3);
  }
  return traffic == "read"    ? std::optional(0.0)
         : traffic == "write" ? std::optional(1.0)
         : traffic == "copy"  ? std::optional(1.0 / 2.0)
         : traffic == "triad" ? std::optional(1.0 / 3.0)
                              : std::optional<double>();
}

std::vector<MemoryRoof> memory_roofs(const Machine& machine, int threads) {
  const std::vector<std::string> names = level_names(machine);
  std::vector<MemoryRoof> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_last = i + 1 == names.size();
    const auto given = std::find_if(machine.bandwidth.begin(), machine.bandwidth.end(), [&](const auto& entry) {
      return entry.level == names[i] && entry.origin == kGivenOrigin;
    });
    const std::vector<TrafficRoof> kinds = kinds_of(machine, names[i], threads);
    const auto fastest_kind = std::max_element(
        kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.bytes_per_s < b.bytes_per_s; });
    const auto capacity_bytes = is_last ? std::nullopt : capacity_through(machine, names, i, threads);
    if (!is_last && !capacity_bytes) {
      continue; // a level of unknown size holds nothing for certain
    }
    if (given != machine.bandwidth.end()) {
      out.push_back({names[i], capacity_bytes, given->bytes_per_s, std::string(kGivenOrigin)});
    } else if (fastest_kind != kinds.end()) {
      out.push_back({names[i], capacity_bytes, fastest_kind->bytes_per_s, fastest_kind->origin, fastest_kind->traffic,
                     kinds, fastest_kind->low, fastest_kind->high});
    }
  }
  return out;
}

} // namespace

TrafficRoof MemoryRoof::ceiling_of(double bytes_read, double bytes_written) const {
  const double bytes = bytes_read + bytes_written;
  const double share = bytes > 0.0 ? bytes_written / bytes : 0.0;
  TrafficRoof best{traffic, bytes_per_s, origin, low, high};
  double best_distance = std::numeric_limits<double>::max();
  for (const TrafficRoof& kind : kinds) {
    const auto kind_share = written_share(kind.traffic);
    const double distance = kind_share ? std::abs(*kind_share - share) : 0.0;
    if (distance < best_distance || (distance == best_distance && kind.bytes_per_s > best.bytes_per_s)) {
      best = kind;
      best_distance = distance;
    }
  }
  return best;
}

Roofs at_mix(Roofs roofs, double bytes_read, double bytes_written) {
  for (MemoryRoof& level : roofs.memory) {
    const TrafficRoof chosen = level.ceiling_of(bytes_read, bytes_written);
    level.bytes_per_s = chosen.bytes_per_s;
    level.origin = chosen.origin;
    level.traffic = chosen.traffic;
    level.low = chosen.low;
    level.high = chosen.high;
  }
  return roofs;
}

const MemoryRoof* Roofs::level_of(std::int64_t working_set_bytes) const {
  for (const MemoryRoof& roof : memory) {
    if (!roof.capacity_bytes || working_set_bytes <= *roof.capacity_bytes) {
      return &roof;
    }
  }
  return memory.empty() ? nullptr : &memory.back();
}

Roofs roofs_at(const Machine& machine, const std::string& dtype, int threads) {
  Roofs roofs;
  roofs.matrix = given_peak(machine);
  if (!roofs.matrix) {
    // Arithmetic is f32 whatever the storage, unless the processor has a dot product of that type.
    roofs.matrix = dtype == "bf16"
                       ? fastest(machine, {{"f32", "fma"}, {"bf16", "bf16_dot"}, {"bf16", "tensor"}}, threads)
                   : dtype == "f16"  ? fastest(machine, {{"f32", "fma"}, {"f16", "tensor"}}, threads)
                   : dtype == "tf32" ? fastest(machine, {{"f32", "fma"}, {"tf32", "tensor"}}, threads)
                                     : fastest(machine, {{"f32", "fma"}}, threads);
  }
  roofs.vector = fastest(machine, {{"f32", "fma"}, {"f32", "fma_add"}}, threads);
  roofs.transcendental = fastest(machine, {{"f32", "exp"}}, threads);
  roofs.memory = memory_roofs(machine, threads);
  roofs.launch_overhead_s = profilers::launch_overhead_s(machine, threads);
  return roofs;
}

Roofs roofs_for(const Machine& machine, const Record& record) {
  const auto* device = std::get_if<std::string>(&record.config.get("device"));
  if (device == nullptr || *device == "cpu") {
    return roofs_at(machine, dtype_of(record), threads_of(machine, record));
  }
  // What was measured are the ceilings of the host; only stated ones can be those of another device.
  Machine stated = machine;
  const auto is_measured = [](const auto& entry) {
    return entry.origin != kGivenOrigin && entry.origin != kSpecOrigin && entry.origin != kDeviceOrigin;
  };
  std::erase_if(stated.compute, is_measured);
  std::erase_if(stated.bandwidth, is_measured);
  stated.launch_overheads.clear();
  return roofs_at(stated, dtype_of(record), threads_of(stated, record));
}

const Roofs& RoofTable::roofs_for(const Record& record) {
  const auto* device = std::get_if<std::string>(&record.config.get("device"));
  const auto key =
      std::tuple(device == nullptr ? std::string("cpu") : *device, dtype_of(record), threads_of(machine_, record));
  const std::lock_guard lock(mutex_);
  auto found = roofs_.find(key);
  if (found == roofs_.end()) {
    found = roofs_.emplace(key, reports::roofs_for(machine_, record)).first;
  }
  return found->second;
}

int roof_threads(const Machine& machine, const Record& record) {
  return threads_of(machine, record);
}

void apply_given(Machine& machine, std::optional<double> peak_gflops, std::optional<double> peak_gbs) {
  if (peak_gflops) {
    const double per_s = *peak_gflops * 1e9;
    machine.compute.push_back({"fma", "any", "", 0, per_s, per_s, per_s, std::string(kGivenOrigin)});
  }
  if (peak_gbs) {
    const double per_s = *peak_gbs * 1e9;
    machine.bandwidth.push_back({"DRAM", "any", 0, per_s, per_s, per_s, 0, std::string(kGivenOrigin)});
  }
}

} // namespace attnprof::reports
