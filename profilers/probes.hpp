// What of measuring works on this host, what does not, and what would help: the lines of `attnprof doctor`.
#pragma once

#include "profilers/clock.hpp"
#include "profilers/environment.hpp"
#include "profilers/host_probe.hpp"
#include "profilers/machine_file.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::profilers {

enum class ProbeVerdict {
  kOk,      ///< works
  kLimited, ///< works, but numbers suffer or a part is missing
  kAbsent,  ///< does not work or cannot be told
};
/// ok, limited or absent.
std::string_view name_of(ProbeVerdict verdict);

struct Probe {
  std::string name;
  ProbeVerdict verdict = ProbeVerdict::kAbsent;
  std::string reason; ///< a sentence without its full stop
  std::string fix;    ///< what to do about it; empty when nothing is needed or possible
};

/// One attempt to count the instructions of a short loop.
struct CounterTrial {
  int error = 0; ///< errno of perf_event_open, 0 when it opened
  std::optional<std::uint64_t> counted;
};

/// One attempt to reach a GPU.
struct CudaTrial {
  bool driver_library = false;
  std::optional<int> init_error; ///< CUresult of cuInit; absent without the library
  int devices = 0;
};

/// Everything that the probes touch outside the process; the Environment is read beforehand.
struct DoctorHost {
  std::filesystem::path root = "/";
  std::function<CounterTrial()> try_counter;
  std::function<CudaTrial()> try_cuda;
  /// True when the dynamic linker finds the library.
  std::function<bool(const std::string&)> has_library;
  /// True when the program is on the search path.
  std::function<bool(const std::string&)> has_program;
  EnvironmentVariable variable;
};
DoctorHost system_doctor_host();

/// All probes, in the order in which they are printed.
std::vector<Probe> run_probes(const Environment& environment, const DoctorHost& host, Clock& clock, HostProbe& probe);

/// Hardware counters: tells a missing PMU, a paranoid level, a filtered or missing system call and a counter that
/// counts nothing apart (BUG-119, BUG-130).
Probe probe_counters(const CounterTrial& trial, std::optional<std::int64_t> paranoid_level,
                     const Environment& environment);
Probe probe_cuda(const CudaTrial& trial);
/// Times of kernels as the GPU takes them: CUPTI's activity records.
Probe probe_cupti_activity(bool has_library, const Probe& cuda);
/// Counters of kernels: CUPTI's range profiler. `admin_only`: the driver gives them to administrators only.
Probe probe_cupti(bool has_library, const Probe& cuda, bool admin_only);
/// What can be said of a GPU from outside a plugin: the one place that decides on its rows.
struct GpuFacts {
  CudaTrial cuda;
  bool cupti_library = false;
  bool counters_for_administrators = false;
};
std::vector<Probe> probe_gpu(const GpuFacts& facts);
/// Energy totals of the packages below `root`.
Probe probe_energy(const std::filesystem::path& root, const Environment& environment);
Probe probe_governor(const Environment& environment);
Probe probe_turbo(const Environment& environment);
Probe probe_smt(const Environment& environment);
Probe probe_threads(const Environment& environment, const EnvironmentVariable& variable);
Probe probe_quota(const Environment& environment);
Probe probe_huge_pages(const Environment& environment);
Probe probe_build(const Environment& environment);
Probe probe_timer_quality(const TimerQuality& quality, const std::string& timer,
                          const std::optional<std::string>& clock_source);
/// Steal of all processors since the machine started, `up_s` ago.
Probe probe_steal(std::optional<double> steal_s, std::optional<double> up_s, const Environment& environment);
/// Whether another hardware thread used this core: `issue_rates` of looks at several moments, in operations a cycle,
/// empty where it cannot be told.
Probe probe_core_sharing(std::span<const double> issue_rates);

} // namespace attnprof::profilers
