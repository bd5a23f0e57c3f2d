#include "profilers/probes.hpp"

#include "profilers/energy.hpp"
#include "profilers/perf/counter_refusal.hpp"
#include "profilers/system_files.hpp"
#include "profilers/system_probe_runner.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

namespace attnprof::profilers {
namespace {

using enum ProbeVerdict;

// Names under which CUDA 11 to 13 ship it.
constexpr std::array kCuptiNames{"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"};

Probe probe_program(const DoctorHost& host, const char* name, const char* what) {
  if (host.has_program(name))
    return {name, kOk, fmt::format("found: {}", what), ""};
  return {name, kAbsent, fmt::format("not on the search path; without it no {}", what),
          fmt::format("install the package {}", name)};
}

Probe probe_isa(const Environment& environment) {
  std::vector<std::string> names;
  for (const ProbeTable* table : runnable_probe_tables())
    names.emplace_back(table->isa);
  const bool bf16 = std::find(environment.isa_flags.begin(), environment.isa_flags.end(), "avx512_bf16") !=
                    environment.isa_flags.end();
  return {"instruction sets", kOk,
          fmt::format("{}; bf16 products {}", fmt::join(names, ", "),
                      bf16 ? "in hardware" : "not in hardware, so bf16 is no faster than f32 here"),
          ""};
}

Probe probe_memory(const Environment& environment) {
  if (!environment.memory_available_bytes)
    return {"memory", kAbsent, "the system does not tell how much is available", ""};
  return {"memory", kOk,
          fmt::format("{:.1f} GiB available", static_cast<double>(*environment.memory_available_bytes) / (1 << 30)),
          ""};
}

bool gpu_counters_for_administrators(const std::filesystem::path& root) {
  const auto parameters = read_text(root / "proc/driver/nvidia/params");
  return parameters && parameters->find("RmProfilingAdminOnly: 1") != std::string::npos;
}

std::optional<double> uptime_s(const std::filesystem::path& root) {
  const auto text = read_text(root / "proc/uptime");
  if (!text)
    return std::nullopt;
  try {
    return std::stod(*text);
  } catch (const std::exception&) {
    return std::nullopt; // not a number: not a Linux /proc
  }
}

} // namespace

std::string_view name_of(ProbeVerdict verdict) {
  switch (verdict) {
  case ProbeVerdict::kOk: return "ok";
  case ProbeVerdict::kLimited: return "limited";
  case ProbeVerdict::kAbsent: return "absent";
  }
  return "";
}

Probe probe_counters(const CounterTrial& trial, std::optional<std::int64_t> paranoid_level,
                     const Environment& environment) {
  const std::string name = "PMU counters";
  const std::string level = paranoid_level ? fmt::format("{}", *paranoid_level) : "unknown";
  if (trial.error != 0) {
    CounterHost host;
    host.paranoid_level = paranoid_level;
    host.hypervisor = environment.hypervisor;
    const CounterRefusal refusal = refusal_of(trial.error, host);
    return {name, kAbsent, refusal.reason, refusal.fix};
  }
  if (!trial.counted || *trial.counted == 0)
    return {name, kAbsent, "counters open but count nothing, which no running program can have done; they are ignored",
            "enable the virtual PMU of the hypervisor"};
  if (environment.core_kinds.size() > 1)
    return {name, kLimited,
            fmt::format("hybrid processor: {} and {} have counters of their own; threads are placed on {} first",
                        environment.core_kinds[0].name, environment.core_kinds[1].name, environment.core_kinds[0].name),
            "restrict the run to one kind, for example with taskset"};
  return {name, kOk, fmt::format("instructions can be counted; kernel.perf_event_paranoid is {}", level), ""};
}

Probe probe_cuda(const CudaTrial& trial) {
  const std::string name = "CUDA GPU";
  if (!trial.driver_library)
    return {name, kAbsent, "libcuda.so.1 was not found: no NVIDIA driver is installed",
            "install the driver, or start the container with GPU access"};
  const int error = trial.init_error.value_or(0);
  if (error == 100 || (error == 0 && trial.devices == 0)) // CUDA_ERROR_NO_DEVICE
    return {name, kAbsent, "the driver library is there, but it sees no device",
            "check nvidia-smi, CUDA_VISIBLE_DEVICES and the container's GPU access"};
  if (error != 0)
    return {name, kAbsent, fmt::format("cuInit failed with CUDA error {}", error),
            "check that driver library and kernel module are of one version (nvidia-smi)"};
  return {name, kOk, fmt::format("{} device{} visible", trial.devices, trial.devices == 1 ? "" : "s"), ""};
}

Probe probe_cupti_activity(bool has_library, const Probe& cuda) {
  const std::string name = "CUPTI activity";
  if (!has_library)
    return {name, kAbsent, "libcupti was not found; GPU times come from events around whole launches",
            "install the CUDA toolkit's CUPTI and put it on LD_LIBRARY_PATH"};
  if (cuda.verdict != kOk)
    return {name, kAbsent, "libcupti is there, but no GPU can be used", cuda.fix};
  return {name, kOk, "library found; kernel times need no privilege, in containers neither", ""};
}

std::vector<Probe> probe_gpu(const GpuFacts& facts) {
  const Probe cuda = probe_cuda(facts.cuda);
  return {cuda, probe_cupti_activity(facts.cupti_library, cuda),
          probe_cupti(facts.cupti_library, cuda, facts.counters_for_administrators)};
}

Probe probe_energy(const std::filesystem::path& root, const Environment& environment) {
  const EnergyMeter meter(root, environment.hypervisor);
  if (!meter.fault().empty())
    return {"energy", kAbsent, meter.fault(), meter.fix()};
  const bool dram =
      std::any_of(meter.zones().begin(), meter.zones().end(), [](const EnergyZone& zone) { return zone.is_dram; });
  return {"energy", kOk,
          fmt::format("{} powercap zones; memory {}", meter.zones().size(), dram ? "too" : "is not told"), ""};
}

Probe probe_cupti(bool has_library, const Probe& cuda, bool admin_only) {
  const std::string name = "CUPTI counters";
  if (!has_library)
    return {name, kAbsent, "libcupti was not found; GPU times come from events, GPU counters are null",
            "install the CUDA toolkit's CUPTI and put it on LD_LIBRARY_PATH"};
  if (cuda.verdict != kOk)
    return {name, kAbsent, "libcupti is there, but no GPU can be used", cuda.fix};
  if (admin_only)
    return {name, kLimited, "kernel times work, but the driver gives counters to administrators only",
            "run as root, or load the module with NVreg_RestrictProfilingToAdminUsers=0"};
  return {name, kOk, "library found, the driver does not restrict counters", ""};
}

Probe probe_governor(const Environment& environment) {
  const std::string name = "frequency governor";
  if (!environment.governor)
    return {name, kAbsent, "unknown: the system has no cpufreq, as is usual in a virtual machine", ""};
  if (*environment.governor == "performance")
    return {name, kOk, "performance", ""};
  return {name, kLimited, fmt::format("{}: the clock follows the load and times vary with it", *environment.governor),
          "cpupower frequency-set -g performance as root"};
}

Probe probe_turbo(const Environment& environment) {
  const std::string name = "turbo";
  if (!environment.turbo)
    return {name, kAbsent, "unknown: the system does not tell; each sample carries the clock measured beside it", ""};
  if (!*environment.turbo)
    return {name, kOk, "off", ""};
  return {name, kLimited, "on: the clock depends on temperature and on how many cores are busy",
          "switch it off for comparisons (intel_pstate/no_turbo or cpufreq/boost)"};
}

Probe probe_smt(const Environment& environment) {
  const std::string name = "SMT";
  if (!environment.smt)
    return {name, kAbsent, "unknown: the system does not tell", ""};
  if (!*environment.smt)
    return {name, kOk, "off", ""};
  return {name, kLimited,
          fmt::format("on: {} usable processors share {} cores; threads take one of each core first",
                      environment.cpus.size(), environment.physical_cores),
          fmt::format("use --threads {}", environment.physical_cores)};
}

Probe probe_threads(const Environment& environment, const EnvironmentVariable& variable) {
  const std::string name = "threads";
  const auto set = variable("OMP_NUM_THREADS");
  int wanted = 0;
  if (set && std::from_chars(set->data(), set->data() + set->size(), wanted).ec == std::errc() && wanted > 0 &&
      wanted != environment.cores)
    return {name, kLimited, fmt::format("OMP_NUM_THREADS is {}, {} can run at once", wanted, environment.cores),
            "unset OMP_NUM_THREADS, or use --threads"};
  return {name, kOk, fmt::format("{} can run at once", environment.cores), ""};
}

Probe probe_quota(const Environment& environment) {
  const std::string name = "CPU quota";
  if (!environment.quota_cores)
    return {name, kOk, "none", ""};
  const auto usable = static_cast<double>(environment.cpus.size());
  if (*environment.quota_cores >= usable)
    return {name, kOk,
            fmt::format("{:.2f} processors, no less than the {} usable ones", *environment.quota_cores,
                        environment.cpus.size()),
            ""};
  return {name, kLimited,
          fmt::format("{:.2f} processors of {}: more than {} threads would be stopped in the middle of samples",
                      *environment.quota_cores, environment.cpus.size(), environment.cores),
          "raise the quota of the container or the control group"};
}

Probe probe_huge_pages(const Environment& environment) {
  const std::string name = "huge pages";
  if (!environment.huge_pages)
    return {name, kAbsent, "unknown: the kernel has no transparent huge pages", ""};
  if (*environment.huge_pages == "never")
    return {name, kLimited, "never: large tensors suffer from TLB misses and slow first touches",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled as root"};
  return {name, kOk, *environment.huge_pages, ""};
}

Probe probe_build(const Environment& environment) {
  const std::string name = "build";
  const std::string build = fmt::format("{} {}, {}", environment.version, environment.build_type, environment.compiler);
  if (environment.assertions)
    return {name, kLimited, fmt::format("{}: a debug build, its times say little", build),
            "configure with -DCMAKE_BUILD_TYPE=Release"};
  return {name, kOk, build, ""};
}

Probe probe_timer_quality(const TimerQuality& quality, const std::string& timer,
                          const std::optional<std::string>& clock_source) {
  constexpr double kCoarse_s = 1e-6;
  const std::string source = clock_source ? fmt::format(", clock source {}", *clock_source) : "";
  if (!quality.resolution_s || !quality.overhead_s)
    return {"timer", kAbsent, fmt::format("{} did not move within a million reads{}", timer, source), ""};
  const std::string found = fmt::format("{}: step {:.0f} ns, {:.0f} ns a read{}", timer, *quality.resolution_s * 1e9,
                                        *quality.overhead_s * 1e9, source);
  if (*quality.resolution_s > kCoarse_s)
    return {"timer", kLimited, found + "; short kernels need large batches", "select the clock source tsc"};
  return {"timer", kOk, found, ""};
}

Probe probe_steal(std::optional<double> steal_s, std::optional<double> up_s, const Environment& environment) {
  const std::string name = "steal";
  if (!steal_s || !up_s || !(*up_s > 0))
    return {name, kAbsent, "unknown: /proc/stat does not tell", ""};
  const double share = *steal_s / (*up_s * std::max<double>(1, static_cast<double>(environment.cpus.size())));
  if (share > 0.005)
    return {name, kLimited,
            fmt::format("{:.1f} % of the processor time since start went to other machines of this host", 100 * share),
            "use a dedicated machine, or trust medians with wide intervals"};
  if (environment.hypervisor.value_or(false))
    return {name, kOk, fmt::format("{:.2f} % since start; not every hypervisor reports it", 100 * share), ""};
  return {name, kOk, fmt::format("{:.2f} % since start", 100 * share), ""};
}

Probe probe_core_sharing(std::span<const double> issue_rates) {
  const std::string name = "core";
  if (issue_rates.empty())
    return {name, kAbsent,
            "unknown whether another hardware thread uses it: there is no known loop for this processor, or the clock "
            "is too coarse",
            ""};
  const double best = *std::max_element(issue_rates.begin(), issue_rates.end());
  const auto shared =
      std::count_if(issue_rates.begin(), issue_rates.end(), [&](double rate) { return is_core_shared(rate, best); });
  const std::string found = fmt::format(
      "{} of {} looks saw another hardware thread on this core (a guest cannot see whose)", shared, issue_rates.size());
  const std::string fix =
      "run nothing beside, or ask for whole cores; the column probe_ops_per_cycle tells for each case";
  if (best < kHalfCoreRate)
    return {name, kLimited,
            fmt::format("at most {:.1f} independent operations a cycle: shared throughout, or a narrow core", best),
            fix};
  if (shared > 0)
    return {name, kLimited,
            fmt::format("{}; it then issued {:.1f} independent operations a cycle at least, and {:.1f} alone", found,
                        *std::min_element(issue_rates.begin(), issue_rates.end()), best),
            fix};
  return {name, kOk, fmt::format("{}; {:.1f} independent operations a cycle", found, best), ""};
}

namespace {

/// Looks that lie a millisecond apart.
std::vector<double> look_at_core(Clock& clock, HostProbe& host) {
  constexpr int kLooks = 100;
  constexpr std::int64_t kCyclesBetween = 2'000'000;
  std::vector<double> out;
  for (int i = 0; i < kLooks; ++i) {
    if (const std::optional<double> rate = measure_core(clock, host).issue_rate)
      out.push_back(*rate);
    host.spin_cycles(kCyclesBetween);
  }
  return out;
}

} // namespace

std::vector<Probe> run_probes(const Environment& environment, const DoctorHost& host, Clock& clock, HostProbe& probe) {
  const auto paranoid = read_integer(host.root / "proc/sys/kernel/perf_event_paranoid");
  const auto source = read_text(host.root / "sys/devices/system/clocksource/clocksource0/current_clocksource");
  const bool cupti = std::any_of(kCuptiNames.begin(), kCuptiNames.end(), host.has_library);
  const std::vector<Probe> gpu = probe_gpu({host.try_cuda(), cupti, gpu_counters_for_administrators(host.root)});
  std::vector<Probe> out = {
      probe_build(environment),
      probe_isa(environment),
      probe_threads(environment, host.variable),
      probe_memory(environment),
      probe_timer_quality(probe_timer(clock), clock.name(), source),
      probe_governor(environment),
      probe_turbo(environment),
      probe_smt(environment),
      probe_quota(environment),
      probe_steal(probe.read().steal_s, uptime_s(host.root), environment),
      probe_core_sharing(look_at_core(clock, probe)),
      probe_huge_pages(environment),
      probe_counters(host.try_counter(), paranoid, environment),
      probe_energy(host.root, environment),
      probe_program(host, "gnuplot", "SVG figures (roofline.svg, throughput.svg)"),
      probe_program(host, "valgrind", "instructions and cache misses without a PMU (--counters valgrind)"),
  };
  out.insert(out.end() - 2, gpu.begin(), gpu.end());
  return out;
}

} // namespace attnprof::profilers
