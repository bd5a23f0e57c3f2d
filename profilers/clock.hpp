// Time sources. Everything that reads time takes a Clock, so that tests drive the whole measurement with a made-up one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace attnprof::profilers {

/// A source of wall time that never runs backwards.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds since an arbitrary, fixed origin.
  virtual std::int64_t now_ns() = 0;
  /// What the `timer` column prints, e.g. "steady_clock".
  virtual std::string name() const = 0;
  /// Seconds that `body` takes, which holds so many `runs` of the work: between two reads, with nothing else between
  /// them; or on a device that the body only starts.
  virtual double time_s(const std::function<void()>& body, std::int64_t runs);
  /// The clock's step where it is known without probing.
  virtual std::optional<double> known_resolution_s() const { return std::nullopt; }
  /// Whether bodies only start work, so that reads around them say nothing.
  virtual bool is_asynchronous() const { return false; }
};

/// The monotonic clock of the system: wall time, so that two threads of work do not count twice (BUG-138).
class SteadyClock final : public Clock {
 public:
  std::int64_t now_ns() override;
  std::string name() const override { return "steady_clock"; }
};

/// What one pair of clock reads can resolve.
struct TimerQuality {
  /// Median step between two successive reads that differ; absent when the clock did not move within the probe.
  std::optional<double> resolution_s;
  /// Mean cost of one read; absent when the clock did not move within the probe.
  std::optional<double> overhead_s;
};

/// Reads the clock until it has stepped 64 times or `max_reads` are spent.
TimerQuality probe_timer(Clock& clock, std::int64_t max_reads = 1'000'000);

/// Seconds between two readings of a Clock, in nanoseconds.
constexpr double seconds_between(std::int64_t begin_ns, std::int64_t end_ns) {
  return static_cast<double>(end_ns - begin_ns) * 1e-9;
}

} // namespace attnprof::profilers
