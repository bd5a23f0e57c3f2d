// Measuring the ceilings: the plan and its arithmetic over a seam that runs the
// probes.
#pragma once

#include "profilers/machine.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::profilers {

enum class Traffic { kRead, kWrite, kCopy, kTriad, kWriteNt, kCopyNt, kTriadNt };
inline constexpr std::array kAllTraffic{Traffic::kRead,    Traffic::kWrite,  Traffic::kCopy,   Traffic::kTriad,
                                        Traffic::kWriteNt, Traffic::kCopyNt, Traffic::kTriadNt};
std::string_view name_of(Traffic kind);
/// Arrays that one pass touches: 1 for read and write, 2 for copy, 3 for triad.
int arrays_of(Traffic kind);

/// Runs probes. Times are wall time from the first thread's start to the last
/// one's end, in seconds.
class ProbeRunner {
 public:
  struct Compute {
    std::string unit;
    std::string dtype;
    std::string isa;
    double work_per_iteration = 0;
  };

  virtual ~ProbeRunner() = default;
  virtual std::vector<Compute> compute_probes() const = 0;
  /// Probes that this processor cannot run, with the reason.
  virtual std::vector<AbsentCeiling> absent_probes() const = 0;
  virtual double run_compute(std::size_t probe, int threads, std::int64_t iterations) = 0;
  virtual bool offers(Traffic kind) const = 0;
  /// `repeats` passes of each thread over arrays of its own, `bytes_per_thread`
  /// in all of them together, after at least one pass that is not timed. The
  /// bytes are a multiple of 512 for each array.
  virtual double run_traffic(Traffic kind, int threads, std::int64_t bytes_per_thread, std::int64_t repeats) = 0;
  /// One pass over the next `window_bytes` of a working set of
  /// `bytes_per_thread` that no cache holds: windows follow each other round
  /// the working set, so that each was last touched a whole round ago. Keeps
  /// samples of memory short.
  virtual double run_stream(Traffic kind, int threads, std::int64_t bytes_per_thread, std::int64_t window_bytes) = 0;
  /// Whether the system took a thread off its processor during the last run of
  /// arithmetic or traffic.
  virtual bool was_disturbed() const = 0;
  virtual std::optional<double> cpu_clock_hz() = 0;
  /// Mean time of `launches` empty launches one after the other, started as the
  /// CPU executor starts its own.
  virtual double run_empty_launches(int threads, int launches) = 0;
};

struct MachineOptions {
  /// About how long to take; at least five rounds of everything are run, which
  /// takes about 2 s on two cores.
  double budget_s = 12;
};

/// Measures all ceilings. Rounds over all probes are interleaved, so that a
/// slow moment of the machine touches each of them once. A round during which
/// the system took a thread off its processor measures the system: it is left
/// out, and those that were disturbed most are repeated for up to half of the
/// budget again. A ceiling is the 90 % quantile of its rounds: others on the
/// machine can only lower a rate. A compute ceiling whose time does not double
/// with its work is reported absent (BUG-109).
Machine measure_machine(const Environment& environment, ProbeRunner& runner, Clock& clock,
                        const MachineOptions& options);

/// Half-octave steps of the working set of one thread, from 4 KiB to
/// `top_bytes`, in multiples of 512 bytes.
std::vector<std::int64_t> working_set_ladder(std::int64_t top_bytes);

/// The largest working set of all threads: past the last-level cache by a
/// factor of 4 and at least 256 MiB, but no more than a quarter of the memory
/// that is available.
std::int64_t largest_working_set(const Environment& environment);

/// The caches as one of `threads` threads sees them: a cache that several
/// threads share is divided among them.
std::vector<CacheShare> cache_shares(const Environment& environment, int threads);

/// True when doubled work takes 1.8 to 2.2 times as long, by the fastest runs
/// or by the median over pairs of runs: the former survives interruptions, the
/// latter a clock that moves. Absent without samples.
std::optional<bool> work_doubles_time(std::span<const double> once_s, std::span<const double> twice_s);

} // namespace attnprof::profilers
