// What readings of a counter mean: differences, scaling, sanity, derived figures. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace attnprof::profilers {

/// One read of a counter: running totals since it was opened. Resetting a counter clears the value alone, not the
/// times, so only differences of two readings mean anything (BUG-116).
struct CounterReading {
  std::uint64_t value = 0;
  std::uint64_t enabled_ns = 0; ///< thread time in which the counter was wanted
  std::uint64_t running_ns = 0; ///< thread time in which it really was on the processor
};

/// What a counter counted between two readings, or over several threads.
struct CountedInterval {
  std::optional<double> count; ///< scaled to the whole interval; absent where the readings cannot be trusted
  double enabled_ns = 0;
  double running_ns = 0;
  std::string fault; ///< why `count` is absent: a part of a sentence

  /// Share of the time in which the counter ran; absent where no time passed. Below 1 the count was scaled.
  [[nodiscard]] std::optional<double> coverage() const;
};

/// Counters of the processor have 48 bits or fewer between two overflows; more cannot have been counted (BUG-118).
inline constexpr double kMostCount = 281'474'976'710'656.0; // 2^48

/// value * enabled / running of the differences (perf_event_open(2), "Multiplexing"). Absent with the fault where the
/// times contradict one another, the counter never ran (BUG-115), ran for less than a hundredth of the time, went
/// backwards, or counted more than `most_per_ns` in each nanosecond that it ran.
CountedInterval count_between(const CounterReading& before, const CounterReading& after, double most_per_ns);

/// Sum over threads. One thread that cannot be trusted makes the sum absent.
CountedInterval sum_of(std::span<const CountedInterval> threads);

/// A count and how many operations one of it stands for: vector lanes for Intel's FP_ARITH_INST_RETIRED, where a fused
/// multiply-add counts twice by itself (Intel SDM 3B, 20.3.8); 1 for AMD's retired FLOPs.
struct WeightedCount {
  std::optional<double> count;
  double weight = 1;
};
/// Sum of count * weight; absent where there is none or one is absent.
std::optional<double> weighted_sum(std::span<const WeightedCount> parts);

/// Counts of `runs` runs to those of one, rounded; absent where nothing was counted or less than half of one.
std::optional<std::int64_t> per_run(std::optional<double> count, std::int64_t runs);

/// Instructions a cycle; absent without either (BUG-119).
std::optional<double> instructions_per_cycle(std::optional<std::int64_t> instructions,
                                             std::optional<std::int64_t> cycles);

/// Line fills by misses of the last-level cache, in bytes. Write-backs and non-temporal stores are not in it.
std::optional<std::int64_t> bytes_of_misses(std::optional<std::int64_t> misses, std::int64_t line_bytes);

/// counted / expected; absent where either is not positive.
std::optional<double> check_ratio(std::optional<double> counted, double expected);
/// Within 5 % of what a kernel of known work does (BUG-091, BUG-125).
bool is_trusted(std::optional<double> ratio);

} // namespace attnprof::profilers
