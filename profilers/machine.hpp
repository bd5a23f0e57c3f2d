// The ceilings of this machine, measured: what a roofline is drawn against.
#pragma once

#include "profilers/clock.hpp"
#include "profilers/environment.hpp"
#include "profilers/plateaus.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::profilers {

/// Files of an older layout are measured again, not converted.
inline constexpr int kMachineSchemaVersion = 1;

/// A peak rate of arithmetic: the 90 % quantile over the rounds of the measurement, since interference only lowers a
/// rate. `low` and `high` are the 10 % quantile and the fastest round.
struct ComputeCeiling {
  std::string unit;  ///< fma, fma_add (additions beside FMAs), bf16_dot, exp (exponentials per second)
  std::string dtype; ///< f32, f64 or bf16
  std::string isa;   ///< baseline, avx2 or avx512
  int threads = 1;
  double per_s = 0;
  double low = 0;
  double high = 0;
  std::string origin = "measured";
  bool operator==(const ComputeCeiling&) const = default;
};

/// A peak rate of memory traffic, counted as STREAM does: what the loop reads and writes, without write-allocation.
/// Quantiles as for arithmetic.
struct BandwidthCeiling {
  std::string level; ///< L1, L2, L3 ... DRAM
  std::string kind;  ///< read, write, copy, triad, and write_nt, copy_nt, triad_nt with non-temporal stores
  int threads = 1;
  double bytes_per_s = 0; ///< all threads together
  double low = 0;
  double high = 0;
  std::int64_t working_set_bytes = 0; ///< all threads together
  std::string origin = "measured";
  bool operator==(const BandwidthCeiling&) const = default;
};

/// Where a memory level ends for so many threads.
struct MemoryLevel {
  std::string level;
  int threads = 1;
  /// Largest working set of all threads together that stays in the level; absent for DRAM.
  std::optional<std::int64_t> capacity_bytes;
  /// "curve" when the measured curve shows the level, "system" when only the system's cache sizes name it.
  std::string origin;
  bool operator==(const MemoryLevel&) const = default;
};

struct ThreadCurve {
  int threads = 1;
  std::vector<CurvePoint> points; ///< read bandwidth; both coordinates over all threads together
  bool operator==(const ThreadCurve&) const = default;
};

/// Time from starting an empty launch to its end: waking the workers and waiting for all of them. The median of the
/// rounds; no launch of the program ends sooner.
struct LaunchOverhead {
  int threads = 1;
  double time_s = 0;
  bool operator==(const LaunchOverhead&) const = default;
};

/// A ceiling that could not be measured, and why.
struct AbsentCeiling {
  std::string unit;
  std::string dtype;
  std::string isa;
  std::string reason;
  bool operator==(const AbsentCeiling&) const = default;
};

struct Machine {
  int schema_version = kMachineSchemaVersion;
  std::string fingerprint;
  Environment environment;
  std::string timer;
  std::optional<double> timer_resolution_s;
  std::optional<double> timer_overhead_s;
  std::optional<double> cpu_clock_hz;
  std::vector<ComputeCeiling> compute;
  std::vector<BandwidthCeiling> bandwidth;
  std::vector<MemoryLevel> levels;
  std::vector<ThreadCurve> curves;
  std::vector<AbsentCeiling> absent;
  std::vector<std::string> notes;
  std::vector<LaunchOverhead> launch_overheads;
  std::optional<std::string> measured_on; ///< "2026-03-01T12:00:00Z"; absent in files that do not say
};

/// A ceiling as a caller uses it.
struct Ceiling {
  double per_s = 0;
  double low = 0;
  double high = 0;
  /// "measured", or "scaled" for a thread count between the measured ones: one thread's rate times the threads, but
  /// no more than all threads reach.
  std::string origin;
  /// What reached it: the instruction set, or the kind of traffic.
  std::string by;
};

/// The best instruction set's peak for a unit and dtype, or that of `isa` alone when it is named; absent when it was
/// not measured or for more threads than the machine runs.
std::optional<Ceiling> compute_ceiling(const Machine& machine, std::string_view dtype, std::string_view unit,
                                       int threads, std::string_view isa = {});

/// The fastest kind of traffic at a level, or `kind` alone when it is named; absent as above.
std::optional<Ceiling> bandwidth_ceiling(const Machine& machine, std::string_view level, int threads,
                                         std::string_view kind = {});

/// What an empty launch takes on so many threads: as measured, between the measured counts that of the next larger one;
/// absent where none was measured.
std::optional<double> launch_overhead_s(const Machine& machine, int threads);

/// Whether a tenth of the rounds stayed more than kWideSpread below a ceiling: the machine was disturbed, or its clock
/// moved, and the ceiling is not known well.
inline constexpr double kWideSpread = 0.3;
bool is_wide(double low, double ceiling);

/// The newer measurement with the best of both: others on the machine, or on the host of a virtual one, can only lower
/// a rate, so that the higher of two is nearer to the ceiling. `low` and `high` span both measurements. Levels, curves
/// and environment are those of the newer one; figures given by the user are left out of the comparison.
Machine best_of(Machine newer, const Machine& earlier);
inline constexpr std::string_view kBestOfNote =
    "ceilings are the best of several measurements; `attnprof machine measure --fresh` forgets the earlier ones";

/// The smallest measured level that holds a working set spread over so many threads (private caches add up, shared
/// ones do not); absent when no level was measured or for more threads than the machine runs.
std::optional<std::string> level_for(const Machine& machine, std::int64_t working_set_bytes, int threads);

} // namespace attnprof::profilers
