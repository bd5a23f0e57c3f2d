// Loops of known work, by which counters are tested before they are believed.
#pragma once

#include "profilers/perf/counter_events.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attnprof::profilers {

struct CheckKernel {
  CounterQuantity quantity = CounterQuantity::kCycles;
  std::string what;              ///< "FLOPs of 256-bit fused multiply-adds in f32"
  double expected = 0;           ///< counts of one run
  std::function<void()> prepare; ///< before each run, uncounted; empty: nothing
  std::function<void()> run;
};

/// What this processor can run: a chain of one-cycle operations for cycles and instructions; additions, multiplications
/// and fused multiply-adds of each vector width and precision for FLOPs; one read of each line of a buffer that was
/// flushed for misses of the last-level cache. Elsewhere than on x86 there are none for the last two.
std::vector<CheckKernel> check_kernels(std::int64_t line_bytes);

} // namespace attnprof::profilers
