#include "profilers/environment.hpp"

#include "attnprof_version.hpp"
#include "profilers/system_files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <sched.h>
#include <set>
#include <sstream>

namespace attnprof::profilers {
namespace fs = std::filesystem;
namespace {

constexpr std::array kVectorFlags{"sse2",        "avx",      "fma",      "avx2",  "avx512f", "avx512bw", "avx512vl",
                                  "avx512_bf16", "amx_tile", "amx_bf16", "asimd", "sve",     "sve2",     "bf16"};

fs::path cpu_folder(const fs::path& root, int cpu) {
  return root / "sys/devices/system/cpu" / fmt::format("cpu{}", cpu);
}

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

// First value of each key of /proc/cpuinfo.
std::map<std::string, std::string> read_cpuinfo(const fs::path& root) {
  std::map<std::string, std::string> fields;
  std::istringstream lines(read_text(root / "proc/cpuinfo").value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (const auto colon = line.find(':'); colon != std::string::npos)
      fields.emplace(trimmed(std::string_view(line).substr(0, colon)),
                     trimmed(std::string_view(line).substr(colon + 1)));
  return fields;
}

void read_processor(const fs::path& root, Environment& environment) {
  const auto fields = read_cpuinfo(root);
  const auto field = [&](const char* name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  };
  if (const std::string model = field("model name"); !model.empty())
    environment.cpu_model = model;
  else if (const std::string part = field("CPU part"); !part.empty()) // Arm names no model here
    environment.cpu_model = fmt::format("Arm implementer {} part {}", field("CPU implementer"), part);

  const std::string flags = field("flags").empty() ? field("Features") : field("flags");
  std::istringstream words(flags);
  std::set<std::string> announced;
  for (std::string word; words >> word;)
    announced.insert(word);
  for (const char* flag : kVectorFlags)
    if (announced.count(flag) != 0)
      environment.isa_flags.emplace_back(flag);
  if (!field("flags").empty()) // only x86 tells
    environment.hypervisor = announced.count("hypervisor") != 0;
}

std::vector<CoreKind> read_core_kinds(const fs::path& root, const std::vector<int>& allowed) {
  std::vector<CoreKind> kinds;
  for (const char* name : {"cpu_core", "cpu_atom"}) {
    const auto text = read_text(root / "sys/devices" / name / "cpus");
    if (!text)
      continue;
    CoreKind kind{name, {}};
    for (const int cpu : parse_cpu_list(*text))
      if (std::binary_search(allowed.begin(), allowed.end(), cpu))
        kind.cpus.push_back(cpu);
    if (!kind.cpus.empty())
      kinds.push_back(kind);
  }
  return kinds;
}

// One processor of each core first, the fast kind before the slow one, siblings last: the order in which threads are
// placed, so that two threads never share a core while another idles.
void order_processors(const fs::path& root, Environment& environment, const std::vector<int>& allowed) {
  std::vector<int> by_kind;
  for (const auto& kind : environment.core_kinds)
    by_kind.insert(by_kind.end(), kind.cpus.begin(), kind.cpus.end());
  for (const int cpu : allowed)
    if (std::find(by_kind.begin(), by_kind.end(), cpu) == by_kind.end())
      by_kind.push_back(cpu);
  std::set<int> taken;
  std::vector<int> siblings;
  bool shares_core = false;
  for (const int cpu : by_kind) {
    const auto text = read_text(cpu_folder(root, cpu) / "topology/thread_siblings_list");
    const auto group = parse_cpu_list(text.value_or(""));
    shares_core |= group.size() > 1;
    const bool first = std::none_of(group.begin(), group.end(), [&](int other) { return taken.count(other) != 0; });
    taken.insert(cpu);
    (first ? environment.cpus : siblings).push_back(cpu);
  }
  environment.physical_cores = std::max(1, static_cast<int>(environment.cpus.size()));
  environment.cpus.insert(environment.cpus.end(), siblings.begin(), siblings.end());
  if (const auto active = read_integer(root / "sys/devices/system/cpu/smt/active"))
    environment.smt = *active == 1;
  else if (shares_core)
    environment.smt = true;
}

void read_caches(const fs::path& root, Environment& environment) {
  if (environment.cpus.empty())
    return;
  for (int index = 0; index < 16; ++index) {
    const fs::path folder = cpu_folder(root, environment.cpus.front()) / "cache" / fmt::format("index{}", index);
    const auto level = read_integer(folder / "level");
    const auto kind = read_text(folder / "type");
    const auto size = parse_cache_size(read_text(folder / "size").value_or(""));
    if (!level || !kind || !size || *size <= 0 || *kind == "Instruction")
      continue;
    Cache cache;
    cache.level = static_cast<int>(*level);
    cache.kind = *kind == "Data" ? "data" : "unified";
    cache.size_bytes = *size;
    cache.line_bytes = read_integer(folder / "coherency_line_size").value_or(64);
    // Instances among the usable processors: each names the processors that it serves.
    std::map<std::vector<int>, int> users;
    for (const int cpu : environment.cpus) {
      const fs::path list = cpu_folder(root, cpu) / "cache" / fmt::format("index{}", index) / "shared_cpu_list";
      std::vector<int> sharers = parse_cpu_list(read_text(list).value_or(""));
      if (sharers.empty())
        sharers = {cpu};
      ++users[sharers];
    }
    cache.instances = static_cast<int>(users.size());
    for (const auto& [sharers, count] : users)
      cache.shared_by = std::max(cache.shared_by, count);
    environment.caches.push_back(cache);
  }
  std::stable_sort(environment.caches.begin(), environment.caches.end(),
                   [](const Cache& a, const Cache& b) { return a.level < b.level; });
}

void read_power(const fs::path& root, Environment& environment) {
  std::set<std::string> governors;
  for (const int cpu : environment.cpus)
    if (const auto governor = read_text(cpu_folder(root, cpu) / "cpufreq/scaling_governor"))
      governors.insert(*governor);
  if (!governors.empty())
    environment.governor = fmt::format("{}", fmt::join(governors, ","));
  const fs::path cpus = root / "sys/devices/system/cpu";
  if (const auto off = read_integer(cpus / "intel_pstate/no_turbo"))
    environment.turbo = *off == 0;
  else if (const auto boost = read_integer(cpus / "cpufreq/boost"))
    environment.turbo = *boost == 1;
}

std::optional<std::int64_t> available_memory(const fs::path& root) {
  std::istringstream lines(read_text(root / "proc/meminfo").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    std::int64_t kib = 0;
    if (fields >> name >> kib && name == "MemAvailable:")
      return kib * 1024;
  }
  return std::nullopt;
}

void read_limits(const fs::path& root, Environment& environment) {
  const GroupLimits limits = read_group_limits(root);
  const int usable = std::max(1, static_cast<int>(environment.cpus.size()));
  environment.cores = usable;
  environment.quota_cores = limits.quota_cores;
  // A fraction of a processor buys no thread: it would be throttled in the middle of every sample.
  if (limits.quota_cores && *limits.quota_cores < usable)
    environment.cores = std::max(1, static_cast<int>(*limits.quota_cores));
  environment.memory_available_bytes = available_memory(root);
  if (limits.memory_left_bytes)
    environment.memory_available_bytes =
        std::min(environment.memory_available_bytes.value_or(*limits.memory_left_bytes), *limits.memory_left_bytes);
}

} // namespace

std::vector<int> allowed_cpus() {
  // Large machines need more than the 1024 bits of cpu_set_t; the call fails until the mask is long enough.
  for (int bits = 1024; bits <= (1 << 20); bits *= 2) {
    cpu_set_t* mask = CPU_ALLOC(static_cast<std::size_t>(bits));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(bits));
    std::vector<int> cpus;
    const bool read = ::sched_getaffinity(0, bytes, mask) == 0;
    for (int cpu = 0; read && cpu < bits; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, mask))
        cpus.push_back(cpu);
    CPU_FREE(mask);
    if (read)
      return cpus;
  }
  return {0};
}

Environment read_environment(const EnvironmentSource& source) {
  Environment environment;
  std::vector<int> allowed = source.allowed_cpus;
  std::sort(allowed.begin(), allowed.end());
  read_processor(source.root, environment);
  environment.core_kinds = read_core_kinds(source.root, allowed);
  order_processors(source.root, environment, allowed);
  read_caches(source.root, environment);
  read_power(source.root, environment);
  read_limits(source.root, environment);
  environment.huge_pages =
      parse_bracketed(read_text(source.root / "sys/kernel/mm/transparent_hugepage/enabled").value_or(""));
  environment.kernel = read_text(source.root / "proc/sys/kernel/osrelease");
  environment.version = kVersion;
  environment.commit = kCommit;
  environment.compiler = kCompiler;
  environment.build_type = kBuildType;
#ifndef NDEBUG
  environment.assertions = true;
#endif
  return environment;
}

std::string fingerprint(const Environment& environment) {
  std::string text = fmt::format("{}|{}|{}|{}", environment.cpu_model.value_or(""),
                                 fmt::join(environment.isa_flags, " "), environment.cores, environment.physical_cores);
  for (const Cache& cache : environment.caches)
    text +=
        fmt::format("|L{} {} {} {} {}", cache.level, cache.kind, cache.size_bytes, cache.shared_by, cache.instances);
  text += fmt::format("|{}|{}|{}", environment.version, environment.compiler, environment.build_type);
  std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a: the same on every machine, which std::hash is not
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

std::optional<std::int64_t> last_level_bytes(const Environment& environment) {
  if (environment.caches.empty())
    return std::nullopt;
  const Cache& last = environment.caches.back();
  return last.size_bytes * last.instances;
}

std::int64_t private_cache_bytes(const Environment& environment) {
  const int siblings = environment.smt.value_or(false) ? 2 : 1;
  std::int64_t bytes = 0;
  for (const Cache& cache : environment.caches)
    if (cache.shared_by <= siblings && cache.level < 3)
      bytes += cache.size_bytes;
  return bytes;
}

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  std::istringstream parts{std::string(text)};
  for (std::string part; std::getline(parts, part, ',');) {
    int first = 0;
    const char* const end = part.data() + part.size();
    auto [rest, error] = std::from_chars(part.data(), end, first);
    int last = first;
    if (error == std::errc() && rest != end && *rest == '-')
      std::tie(rest, error) = [&] {
        const auto parsed = std::from_chars(rest + 1, end, last);
        return std::pair(parsed.ptr, parsed.ec);
      }();
    constexpr int kMostCpus = 1 << 20;
    if (error != std::errc() || rest != end || first < 0 || last >= kMostCpus)
      continue;
    for (int cpu = first; cpu <= last; ++cpu)
      cpus.push_back(cpu);
  }
  return cpus;
}

std::optional<std::int64_t> parse_cache_size(std::string_view text) {
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value > (std::int64_t{1} << 32U))
    return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(rest - text.data()));
  if (unit.empty())
    return value;
  if (unit == "K")
    return value << 10U;
  if (unit == "M")
    return value << 20U;
  if (unit == "G")
    return value << 30U;
  return std::nullopt;
}

std::optional<std::string> parse_bracketed(std::string_view text) {
  const auto open = text.find('[');
  const auto close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos)
    return std::nullopt;
  return std::string(text.substr(open + 1, close - open - 1));
}

} // namespace attnprof::profilers
