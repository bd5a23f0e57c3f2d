#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace attnprof::profilers {

/// What one run of a body counted, all threads together, user space; absent where it was not counted or not to be
/// trusted.
struct CounterTotals {
  std::optional<std::int64_t> cycles;
  std::optional<std::int64_t> instructions;
  std::optional<std::int64_t> l1_misses; ///< of the data cache
  std::optional<std::int64_t> l2_misses;
  std::optional<std::int64_t> llc_misses;
  std::optional<std::int64_t> dram_bytes; ///< by the source that dram_source names
  std::string dram_source;                ///< controllers: reads and writes of the whole machine; misses: llc_misses
                                          ///< times the line, fills alone; simulated: the same of valgrind
  std::optional<std::int64_t> fp_ops;
  bool fp_ops_are_counted = false;            ///< in closed form, since the processor counts none
  std::optional<double> task_clock_s;         ///< processor time of all threads, the kernel's included
  std::optional<double> cpu_migrations;       ///< mean of the runs
  std::optional<double> counter_coverage;     ///< least share of the time in which an event was counted; 1: none scaled
  std::optional<std::int64_t> counter_passes; ///< passes over the body, one for each group of events
  std::optional<double> counter_time_s;       ///< mean time of one run with the counters open; never the case's time
  std::optional<double> package_energy_j;     ///< of the processor packages, everything that ran on them included
  std::optional<double> dram_energy_j;        ///< of the memory that they report on
};

} // namespace attnprof::profilers
