#pragma once
#include <cstdint>
#include <optional>

namespace attnprof::profilers {

/// What one run of a body counted, all threads together, user space; absent where it was not counted or not to be
/// trusted.
struct CounterTotals {
  std::optional<std::int64_t> cycles;
  std::optional<std::int64_t> instructions;
  std::optional<std::int64_t> llc_misses;
  std::optional<std::int64_t> dram_bytes; ///< llc_misses times the line: fills of the cache, without write-backs
  std::optional<std::int64_t> fp_ops;
  std::optional<double> task_clock_s;         ///< processor time of all threads, the kernel's included
  std::optional<double> cpu_migrations;       ///< mean of the runs
  std::optional<double> counter_coverage;     ///< least share of the time in which an event was counted; 1: none scaled
  std::optional<std::int64_t> counter_passes; ///< passes over the body, one for each group of events
  std::optional<double> counter_time_s;       ///< mean time of one run with the counters open; never the case's time
};

} // namespace attnprof::profilers
