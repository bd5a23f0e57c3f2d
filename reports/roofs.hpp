// The ceilings that one case is held against, chosen from the machine by dtype, unit and threads.
#pragma once
#include "profilers/machine.hpp"
#include "profilers/record.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace attnprof::reports {

/// Work per second of one unit.
struct UnitRoof {
  double per_s = 0;
  std::string label;  ///< "fma f32 avx2, 2 threads"
  std::string origin; ///< measured, given, spec
  /// The slowest and the fastest tenth of the rounds that measured it; absent for what nobody measured.
  std::optional<double> low = {};
  std::optional<double> high = {};
};

/// Bandwidth of one kind of traffic.
struct TrafficRoof {
  std::string traffic; ///< read, write, copy, triad, or with _nt for non-temporal stores; empty: any
  double bytes_per_s = 0;
  std::string origin;
  std::optional<double> low = {}; ///< as above
  std::optional<double> high = {};
};

/// Bandwidth of one memory level for all threads of the case together.
struct MemoryRoof {
  std::string level;                          ///< L1, L2, L3, DRAM
  std::optional<std::int64_t> capacity_bytes; ///< over the threads of the case; absent: unlimited
  double bytes_per_s = 0;                     ///< of the fastest kind, or of that which at_mix has chosen
  std::string origin;
  std::string traffic = {};            ///< kind of traffic that reached it; empty: any
  std::vector<TrafficRoof> kinds = {}; ///< one entry a kind that was measured
  std::optional<double> low = {};      ///< of that kind
  std::optional<double> high = {};

  /// The ceiling of the kind whose reads and writes are mixed most like these: a kernel that only reads does not reach
  /// what non-temporal stores do, nor the other way about. Of kinds that mix equally, the faster one.
  [[nodiscard]] TrafficRoof ceiling_of(double bytes_read, double bytes_written) const;
};

/// Absent: no such ceiling is known. Memory levels stand nearest first; the last one holds everything.
struct Roofs {
  std::optional<UnitRoof> matrix;
  std::optional<UnitRoof> vector;         ///< where absent, the matrix peak stands in: a vector unit is no faster
  std::optional<UnitRoof> transcendental; ///< where absent, the vector peak stands in
  std::vector<MemoryRoof> memory;
  std::optional<double> launch_overhead_s = {}; ///< what an empty launch takes

  /// Level in which `working_set_bytes` fit; null where no bandwidth is known.
  [[nodiscard]] const MemoryRoof* level_of(std::int64_t working_set_bytes) const;
};

/// Origins of ceilings that nobody measured: stated by the user, or by a data sheet.
inline constexpr std::string_view kGivenOrigin = "given";
inline constexpr std::string_view kSpecOrigin = "spec";
/// Of ceilings that were measured on a GPU, which hold for cases on it.
inline constexpr std::string_view kDeviceOrigin = "device";

/// Ceilings for so many threads, which the machine must be able to run at once. Matrix products of bf16 are held
/// against the faster of the f32 multiply-add unit and the bf16 dot product, since either may run them, and likewise
/// those of f16 and tf32 (an f32 case with --math tf32) against tensor cores; vector FLOPs
/// against the faster of multiply-adds and additions beside multiply-adds. A given peak takes the place of the measured
/// one, which stays in the machine.
Roofs roofs_at(const profilers::Machine& machine, const std::string& dtype, int threads);

/// The same, with the bandwidth of each level that ceiling_of chooses for this mix: what a chart draws as one line.
Roofs at_mix(Roofs roofs, double bytes_read, double bytes_written);

/// Ceilings for a record: its dtype, and its threads (asked for, where nothing ran; else all; no more than the machine
/// runs at once). A case of another device than the CPU is held against stated ceilings alone.
Roofs roofs_for(const profilers::Machine& machine, const profilers::Record& record);
/// roofs_for, found once for each device, dtype and number of threads: thousands of records share them. Several threads
/// may ask at once.
class RoofTable {
 public:
  /// `machine` must outlive the table.
  explicit RoofTable(const profilers::Machine& machine) : machine_(machine) {}
  const Roofs& roofs_for(const profilers::Record& record);

 private:
  const profilers::Machine& machine_;
  std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, int>, Roofs> roofs_; ///< which never move
};
/// The number of threads that roofs_for takes.
int roof_threads(const profilers::Machine& machine, const profilers::Record& record);

/// Records ceilings that the user stated: GFLOP/s of the multiply-add unit for every dtype, GB/s of DRAM (BUG-111).
void apply_given(profilers::Machine& machine, std::optional<double> peak_gflops, std::optional<double> peak_gbs);

} // namespace attnprof::reports
