// Why the kernel does not open a counter, in words.
#pragma once

#include "profilers/environment.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::profilers {

/// What of a host decides about counters. Absent fields are unknown.
struct CounterHost {
  std::optional<std::int64_t> paranoid_level; ///< kernel.perf_event_paranoid
  std::optional<bool> hypervisor;
  std::optional<bool> seccomp_filter;  ///< system calls of this process pass a filter
  std::optional<bool> may_use_perfmon; ///< CAP_PERFMON or CAP_SYS_ADMIN is effective
  std::vector<CoreKind> core_kinds;    ///< empty unless the machine is hybrid
  std::vector<int> cpus;               ///< usable processors
  std::int64_t line_bytes = 64;
  std::optional<std::uint32_t> kind_pmu; ///< PMU type of the one kind that all usable processors are of
};
/// From /proc and /sys below `root`.
CounterHost read_counter_host(const std::filesystem::path& root, const Environment& environment);

struct CounterRefusal {
  std::string reason; ///< a sentence without its full stop
  std::string fix;    ///< empty where nothing helps
};
/// In words, a sentence a cause: no PMU, paranoid level, missing capability, filter, no system call, too many files,
/// counters in use (BUG-121, BUG-130). `error` is an errno.
CounterRefusal refusal_of(int error, const CounterHost& host);

/// Set where the usable processors are of several kinds, whose PMUs differ: one event needs one PMU (BUG-123).
std::optional<CounterRefusal> hybrid_refusal(const CounterHost& host);
/// The kind that all of `cpus` are of; absent where they are of several or of none.
std::optional<std::string> single_kind(const std::vector<CoreKind>& kinds, const std::vector<int>& cpus);

} // namespace attnprof::profilers
