// Which events stand for which figure, on which processor.
#pragma once

#include "profilers/perf/perf_system.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::profilers {

enum class CounterQuantity {
  kCycles,
  kInstructions,
  kL1Misses,
  kL2Misses,
  kLlcMisses,
  kDramTraffic,
  kFpOps,
  kTaskClock,
  kMigrations,
  kPageFaults,
  kContextSwitches,
};
inline constexpr std::array kCounterQuantities{
    CounterQuantity::kCycles,     CounterQuantity::kInstructions,    CounterQuantity::kL1Misses,
    CounterQuantity::kL2Misses,   CounterQuantity::kLlcMisses,       CounterQuantity::kDramTraffic,
    CounterQuantity::kFpOps,      CounterQuantity::kTaskClock,       CounterQuantity::kMigrations,
    CounterQuantity::kPageFaults, CounterQuantity::kContextSwitches,
};
/// The name of the column where there is one: cycles, llc_misses ...
std::string_view name_of(CounterQuantity quantity);
/// Counted by the kernel, without a PMU.
bool is_software(CounterQuantity quantity);

struct CounterEvent {
  CounterQuantity quantity = CounterQuantity::kCycles;
  std::string name;
  EventCode code;
  double weight = 1;      ///< what one count stands for
  double most_per_ns = 0; ///< more cannot be counted in a nanosecond
  bool exclude_kernel = true;
  int processor = -1; ///< of a socket's memory controllers: counted there, whoever caused it
};

/// One way to count a figure: all of its events together.
struct CounterChoice {
  std::vector<CounterEvent> events;
};
/// Ways to count the figure that libpfm4 or the kernel has a name for here, the best first; those of the PMU alone.
/// Sources: Intel SDM 3B 20.3.8 (FP_ARITH_INST_RETIRED: a fused multiply-add counts twice, lanes by width and
/// precision); AMD PPR, PMCx003 (retired SSE and AVX FLOPs), PMCx044 (data cache fills by source), PMCx064, PMCx071 and
/// PMCx072 (misses of the second level by loads and by prefetches); Arm ARM, FP_FIXED_OPS_SPEC and FP_SCALE_OPS_SPEC
/// (elements, a fused multiply-add counts twice; scalable vectors by 128 bits).
std::vector<CounterChoice> hardware_choices(CounterQuantity quantity, PerfSystem& system);
/// The same event with and without the kernel's part, where the latter still means something.
std::vector<CounterChoice> software_choices(CounterQuantity quantity);

} // namespace attnprof::profilers
