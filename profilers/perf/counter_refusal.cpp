#include "profilers/perf/counter_refusal.hpp"

#include "profilers/system_files.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <sstream>
#include <system_error>

namespace attnprof::profilers {
namespace {

std::optional<std::string> status_field(const std::string& status, const std::string& name) {
  std::istringstream lines(status);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + ":"))
      return line.substr(std::min(line.size(), line.find_first_not_of(" \t", name.size() + 1)));
  return std::nullopt;
}

std::optional<bool> perfmon_of(const std::optional<std::string>& effective) {
  constexpr unsigned kSysAdmin = 21; // linux/capability.h
  constexpr unsigned kPerfmon = 38;
  if (!effective || effective->empty() || effective->find_first_not_of("0123456789abcdefABCDEF") != std::string::npos ||
      effective->size() > 16)
    return std::nullopt;
  const std::uint64_t bits = std::stoull(*effective, nullptr, 16);
  return (bits >> kSysAdmin & 1U) != 0 || (bits >> kPerfmon & 1U) != 0;
}

CounterRefusal forbidden(int error, const std::string& text, const CounterHost& host) {
  const std::string level = host.paranoid_level ? fmt::format("{}", *host.paranoid_level) : "unknown";
  const bool may = host.may_use_perfmon.value_or(false);
  if (host.paranoid_level && *host.paranoid_level > 2 && !may)
    return {fmt::format("{}; kernel.perf_event_paranoid is {}", text, level),
            "sysctl kernel.perf_event_paranoid=2 as root, or give the program CAP_PERFMON"};
  if (error == EACCES && !may && host.seccomp_filter != true)
    return {fmt::format("{}; the capability CAP_PERFMON is missing, which this event needs at "
                        "kernel.perf_event_paranoid {}",
                        text, level),
            "give the program CAP_PERFMON, or lower kernel.perf_event_paranoid"};
  return {
      fmt::format("{}; kernel.perf_event_paranoid is {}, so {} or a security module forbids it", text, level,
                  host.seccomp_filter == true ? "the seccomp filter of this process" : "a container's seccomp filter"),
      "allow perf_event_open in the container's seccomp profile, or add CAP_PERFMON"};
}

} // namespace

CounterHost read_counter_host(const std::filesystem::path& root, const Environment& environment) {
  CounterHost out;
  out.paranoid_level = read_integer(root / "proc/sys/kernel/perf_event_paranoid");
  out.hypervisor = environment.hypervisor;
  const std::string status = read_text(root / "proc/self/status").value_or("");
  if (const auto filter = status_field(status, "Seccomp"))
    out.seccomp_filter = *filter == "2";
  out.may_use_perfmon = perfmon_of(status_field(status, "CapEff"));
  out.core_kinds = environment.core_kinds;
  out.cpus = environment.cpus;
  if (!environment.caches.empty() && environment.caches.back().line_bytes > 0)
    out.line_bytes = environment.caches.back().line_bytes;
  if (const auto kind = single_kind(out.core_kinds, out.cpus))
    if (const auto type = read_integer(root / "sys/bus/event_source/devices" / *kind / "type"))
      out.kind_pmu = static_cast<std::uint32_t>(*type);
  return out;
}

CounterRefusal refusal_of(int error, const CounterHost& host) {
  const std::string text = "perf_event_open: " + std::generic_category().message(error);
  switch (error) {
  case ENOENT:
  case ENODEV:
  case EOPNOTSUPP:
    if (host.hypervisor.value_or(false))
      return {fmt::format("{} (this virtual machine exposes no PMU)", text),
              "run on bare metal or enable the virtual PMU of the hypervisor"};
    return {fmt::format("{} (the kernel knows no PMU with this event)", text),
            "use a kernel that supports this processor's PMU, or enable the virtual PMU of the hypervisor"};
  case EACCES:
  case EPERM: return forbidden(error, text, host);
  case ENOSYS:
    return {fmt::format("{}; the kernel was built without it or a filter hides it", text),
            "use a kernel with CONFIG_PERF_EVENTS, or another sandbox"};
  case EINVAL: return {fmt::format("{}; the kernel or its PMU does not know this event", text), "use a newer kernel"};
  case EMFILE:
    return {fmt::format("{} (errno {}): each thread and event needs a file", text, error),
            "raise the limit on open files (ulimit -n), or use fewer --threads"};
  case EBUSY:
    return {fmt::format("{}; another user holds the processor's counters", text),
            "stop other profilers, or sysctl kernel.nmi_watchdog=0 as root"};
  default: return {fmt::format("{} (errno {})", text, error), ""};
  }
}

std::optional<std::string> single_kind(const std::vector<CoreKind>& kinds, const std::vector<int>& cpus) {
  for (const CoreKind& kind : kinds) {
    const auto is_inside = [&](int cpu) {
      return std::find(kind.cpus.begin(), kind.cpus.end(), cpu) != kind.cpus.end();
    };
    if (!cpus.empty() && std::all_of(cpus.begin(), cpus.end(), is_inside))
      return kind.name;
  }
  return std::nullopt;
}

std::optional<CounterRefusal> hybrid_refusal(const CounterHost& host) {
  if (host.core_kinds.size() < 2 || host.kind_pmu)
    return std::nullopt;
  std::string names;
  for (const CoreKind& kind : host.core_kinds)
    names += (names.empty() ? "" : " and ") + kind.name;
  return CounterRefusal{
      fmt::format("hybrid: unsupported: {} have PMUs of their own, and an event counts on one", names),
      "restrict the run to one kind of core, for example with taskset"};
}

} // namespace attnprof::profilers
