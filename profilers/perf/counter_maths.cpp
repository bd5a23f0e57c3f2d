#include "profilers/perf/counter_maths.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace attnprof::profilers {
namespace {

/// Less than this share of the time is no basis for the rest of it.
constexpr double kLeastCoverage = 0.01;
/// Times and counts are not read at the very same moment.
constexpr double kSlackNs = 10'000;
constexpr double kTrustedDeviation = 0.05;

CountedInterval faulty(CountedInterval interval, std::string fault) {
  interval.count.reset();
  interval.fault = std::move(fault);
  return interval;
}

} // namespace

std::optional<double> CountedInterval::coverage() const {
  if (!(enabled_ns > 0))
    return std::nullopt;
  return running_ns / enabled_ns;
}

CountedInterval count_between(const CounterReading& before, const CounterReading& after, double most_per_ns) {
  CountedInterval out;
  if (after.enabled_ns < before.enabled_ns || after.running_ns < before.running_ns)
    return faulty(out, "its times ran backwards");
  out.enabled_ns = static_cast<double>(after.enabled_ns - before.enabled_ns);
  out.running_ns = static_cast<double>(after.running_ns - before.running_ns);
  // Modulo 2^64: a wrap of the total is still right, a step back becomes absurd.
  const auto value = static_cast<double>(after.value - before.value);
  if (value > kMostCount)
    return faulty(out, "its value went below zero or above 2^48");
  if (out.running_ns > out.enabled_ns + kSlackNs)
    return faulty(out, fmt::format("it ran for {:.0f} ns of {:.0f}", out.running_ns, out.enabled_ns));
  if (out.enabled_ns == 0 && out.running_ns == 0 && value == 0) {
    out.count = 0; // the thread slept
    return out;
  }
  if (out.running_ns == 0)
    return faulty(out, "it never ran: other users hold the processor's counters");
  if (out.running_ns < kLeastCoverage * out.enabled_ns)
    return faulty(out, fmt::format("it ran for {:.2g} % of the time only", 100 * out.running_ns / out.enabled_ns));
  if (value > most_per_ns * (out.running_ns + kSlackNs))
    return faulty(out, fmt::format("{:.4g} counts in {:.4g} ns are impossible", value, out.running_ns));
  // Never below 1: a counter may run a little longer than it was wanted.
  out.count = value * std::max(1.0, out.enabled_ns / out.running_ns);
  return out;
}

CountedInterval sum_of(std::span<const CountedInterval> threads) {
  CountedInterval out;
  if (threads.empty())
    return faulty(out, "it was read on no thread");
  out.count = 0;
  for (const CountedInterval& thread : threads) {
    out.enabled_ns += thread.enabled_ns;
    out.running_ns += thread.running_ns;
    if (!thread.count && out.fault.empty())
      out.fault = thread.fault;
    if (out.count && thread.count)
      *out.count += *thread.count;
    else
      out.count.reset();
  }
  return out;
}

std::optional<double> weighted_sum(std::span<const WeightedCount> parts) {
  if (parts.empty())
    return std::nullopt;
  double sum = 0;
  for (const WeightedCount& part : parts) {
    if (!part.count)
      return std::nullopt;
    sum += *part.count * part.weight;
  }
  return sum;
}

std::optional<std::int64_t> per_run(std::optional<double> count, std::int64_t runs) {
  if (!count || runs <= 0)
    return std::nullopt;
  const double one = *count / static_cast<double>(runs);
  if (!(one >= 0.5) || one > 9e18)
    return std::nullopt;
  return std::llround(one);
}

std::optional<double> instructions_per_cycle(std::optional<std::int64_t> instructions,
                                             std::optional<std::int64_t> cycles) {
  if (!instructions || !cycles || *instructions <= 0 || *cycles <= 0)
    return std::nullopt;
  return static_cast<double>(*instructions) / static_cast<double>(*cycles);
}

std::optional<std::int64_t> bytes_of_misses(std::optional<std::int64_t> misses, std::int64_t line_bytes) {
  std::int64_t bytes = 0;
  if (!misses || *misses <= 0 || line_bytes <= 0 || __builtin_mul_overflow(*misses, line_bytes, &bytes))
    return std::nullopt;
  return bytes;
}

std::optional<double> check_ratio(std::optional<double> counted, double expected) {
  if (!counted || !(*counted > 0) || !(expected > 0))
    return std::nullopt;
  return *counted / expected;
}

bool is_trusted(std::optional<double> ratio) {
  return ratio && std::abs(*ratio - 1) <= kTrustedDeviation;
}

} // namespace attnprof::profilers
