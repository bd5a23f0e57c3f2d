// What this machine is and what of it the process may use, read below a root folder so that tests use made-up trees.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::profilers {

/// Caches of one level, kind and size.
struct Cache {
  int level = 0;
  std::string kind; ///< "data" or "unified"; instruction caches are left out
  std::int64_t size_bytes = 0;
  std::int64_t line_bytes = 0;
  int shared_by = 1; ///< usable processors that share one of them
  int instances = 1; ///< how many of them the usable processors reach
  bool operator==(const Cache&) const = default;
};

/// Processors of one kind on a hybrid machine, e.g. cpu_core and cpu_atom.
struct CoreKind {
  std::string name;
  std::vector<int> cpus;
  bool operator==(const CoreKind&) const = default;
};

/// Absent fields are unknown. Holds no host name, user name or path.
struct Environment {
  std::optional<std::string> cpu_model;
  std::vector<std::string> isa_flags; ///< vector extensions that the processor announces
  int cores = 1;                      ///< threads that can run at once: usable processors, capped by the quota
  std::vector<int> cpus;              ///< usable processors; one of each core (fast kind first), then their siblings
  int physical_cores = 1;             ///< cores that the usable processors belong to
  std::optional<double> quota_cores;  ///< CPU quota of the control group, in processors
  std::vector<CoreKind> core_kinds;   ///< empty unless the machine is hybrid
  std::vector<Cache> caches;          ///< as seen by the first usable processor, ascending by level
  std::optional<bool> smt;
  std::optional<std::string> governor; ///< absent without cpufreq
  std::optional<bool> turbo;
  std::optional<bool> hypervisor;
  std::optional<std::string> huge_pages; ///< always, madvise or never
  std::optional<std::int64_t> memory_available_bytes;
  std::optional<std::string> kernel;
  std::string version;
  std::string commit;
  std::string compiler;
  std::string build_type;
  bool assertions = false; ///< true when NDEBUG was not defined: a debug build (BUG-163)
};

struct EnvironmentSource {
  std::filesystem::path root = "/";
  /// Processors that the scheduler may use for this process.
  std::vector<int> allowed_cpus;
};

/// The affinity mask of this process, ascending.
std::vector<int> allowed_cpus();

/// Reads what there is; nothing that is missing or malformed is an error.
Environment read_environment(const EnvironmentSource& source);

/// 16 hexadecimal digits over what changes ceilings: CPU model and its vector extensions, usable cores, caches, build.
std::string fingerprint(const Environment& environment);

/// Bytes of the last-level cache over all instances; absent when no cache is known.
std::optional<std::int64_t> last_level_bytes(const Environment& environment);
/// Bytes of the caches that one core has for itself.
std::int64_t private_cache_bytes(const Environment& environment);

/// "0-3,8" -> 0 1 2 3 8; malformed parts are left out.
std::vector<int> parse_cpu_list(std::string_view text);
/// "32K" -> 32768, also M and G; absent for anything else.
std::optional<std::int64_t> parse_cache_size(std::string_view text);
/// The bracketed word of "always [madvise] never".
std::optional<std::string> parse_bracketed(std::string_view text);

} // namespace attnprof::profilers
