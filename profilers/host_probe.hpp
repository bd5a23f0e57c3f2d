// What the operating system did to a sample while it ran, behind a seam.
#pragma once

#include "profilers/clock.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace attnprof::profilers {

/// Counters since some origin; the difference of two readings belongs to what ran between them. Absent where the
/// system does not tell.
struct HostReading {
  /// Time that the hypervisor ran others while a virtual processor of this machine was ready, over all processors.
  std::optional<double> steal_s;
  /// Minor and major page faults of all threads of the process.
  std::optional<std::int64_t> page_faults;
  /// Voluntary and involuntary context switches of all threads of the process.
  std::optional<std::int64_t> context_switches;
};

class HostProbe {
 public:
  virtual ~HostProbe() = default;
  virtual HostReading read() = 0;
  /// Executes `cycles` dependent one-cycle operations; false when the processor has no known such operation.
  virtual bool spin_cycles(std::int64_t cycles) = 0;
  /// Executes so many one-cycle operations on four independent chains; false as above.
  virtual bool spin_independent(std::int64_t operations) = 0;
};

/// Linux: getrusage and /proc/stat.
class LinuxHostProbe final : public HostProbe {
 public:
  explicit LinuxHostProbe(std::string proc_stat_path = "/proc/stat");
  ~LinuxHostProbe() override;
  LinuxHostProbe(const LinuxHostProbe&) = delete;
  LinuxHostProbe& operator=(const LinuxHostProbe&) = delete;
  HostReading read() override;
  bool spin_cycles(std::int64_t cycles) override;
  bool spin_independent(std::int64_t operations) override;

 private:
  std::optional<double> steal_s();

  int stat_file_ = -1;
  SteadyClock clock_;
  std::optional<std::int64_t> steal_read_at_ns_;
  std::optional<double> steal_s_;
};

/// Seconds of steal on the `cpu` line of a /proc/stat text; absent when the line has no eighth number.
std::optional<double> parse_steal_s(const std::string& proc_stat, double ticks_per_s);

/// Cycles per second at this moment: the time of a chain of one-cycle operations, about 7 us long.
std::optional<double> measure_cpu_clock_hz(Clock& clock, HostProbe& host);

/// The speed of the core at this moment, from loops of 10 to 14 us together. It issues 4 independent operations a
/// cycle, or as many as it has integer units, while it works for this thread alone, and half of that while its other
/// hardware thread is busy. A virtual machine cannot see that thread, which may be another guest's. Dependent
/// operations, and loops of multiply-adds, hardly notice it; kernels that keep loads, stores and arithmetic going at
/// once do.
struct CoreReading {
  std::optional<double> clock_hz;
  std::optional<double> issue_rate; ///< operations a cycle
};
CoreReading measure_core(Clock& clock, HostProbe& host);

/// Whether a core that issues `rate` was shared, where it issued `best` at another time: a busy neighbour halves the
/// rate, and the clock moves by some percent between the two loops.
bool is_core_shared(double rate, double best);

/// Far fewer operations a cycle than any core for such work does alone.
inline constexpr double kHalfCoreRate = 2.5;

} // namespace attnprof::profilers
