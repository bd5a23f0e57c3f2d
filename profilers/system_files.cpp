#include "profilers/system_files.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <vector>

namespace attnprof::profilers {
namespace fs = std::filesystem;
namespace {

// Version 1 writes the largest multiple of a page for "no limit".
constexpr std::int64_t kUnlimited = std::int64_t{1} << 60U;

template <typename T>
void keep_smallest(std::optional<T>& kept, const std::optional<T>& value) {
  if (value && (!kept || *value < *kept))
    kept = value;
}

std::optional<double> quota_of_v2(const fs::path& group) {
  const auto text = read_text(group / "cpu.max");
  if (!text)
    return std::nullopt;
  std::istringstream fields(*text);
  double quota = 0;
  double period = 0;
  if (!(fields >> quota >> period) || !(quota > 0) || !(period > 0))
    return std::nullopt; // "max 100000" is no limit
  return quota / period;
}

std::optional<double> quota_of_v1(const fs::path& group) {
  const auto quota = read_integer(group / "cpu.cfs_quota_us");
  const auto period = read_integer(group / "cpu.cfs_period_us");
  if (!quota || !period || *quota <= 0 || *period <= 0)
    return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::int64_t reclaimable(const fs::path& group, const std::string& field) {
  std::istringstream lines(read_text(group / "memory.stat").value_or(""));
  std::string name;
  std::int64_t value = 0;
  while (lines >> name >> value)
    if (name == field)
      return value;
  return 0;
}

std::optional<std::int64_t> memory_left(const fs::path& group, const char* limit_file, const char* usage_file,
                                        const char* reclaimable_field) {
  const auto limit = read_integer(group / limit_file); // "max" is no integer: no limit
  if (!limit || *limit >= kUnlimited)
    return std::nullopt;
  const std::int64_t used = read_integer(group / usage_file).value_or(0) - reclaimable(group, reclaimable_field);
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, used));
}

// A group and its ancestors, each of which limits the process; the mount itself comes last.
std::vector<fs::path> with_ancestors(const fs::path& mount, const std::string& group) {
  std::vector<fs::path> paths;
  fs::path relative = fs::path(group).relative_path();
  for (; !relative.empty(); relative = relative.parent_path())
    paths.push_back(mount / relative);
  paths.push_back(mount);
  return paths;
}

struct Membership {
  std::string controllers; ///< empty for version 2
  std::string group;
};

std::vector<Membership> memberships(const fs::path& root) {
  std::vector<Membership> found;
  std::istringstream lines(read_text(root / "proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    found.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return found;
}

bool lists(const std::string& controllers, const std::string& wanted) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');)
    if (name == wanted)
      return true;
  return false;
}

} // namespace

std::optional<std::string> read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad())
    return std::nullopt;
  std::string content = text.str();
  content.erase(content.find_last_not_of(" \t\r\n") + 1);
  return content;
}

std::optional<std::int64_t> read_integer(const fs::path& path) {
  const auto text = read_text(path);
  if (!text)
    return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size())
    return std::nullopt;
  return value;
}

GroupLimits read_group_limits(const fs::path& root) {
  GroupLimits limits;
  const fs::path mount = root / "sys/fs/cgroup";
  for (const auto& [controllers, group] : memberships(root)) {
    if (controllers.empty()) {
      for (const auto& path : with_ancestors(mount, group)) {
        keep_smallest(limits.quota_cores, quota_of_v2(path));
        keep_smallest(limits.memory_left_bytes, memory_left(path, "memory.max", "memory.current", "inactive_file"));
      }
    }
    if (lists(controllers, "cpu"))
      for (const auto& folder : {std::string("cpu"), controllers})
        for (const auto& path : with_ancestors(mount / folder, group))
          keep_smallest(limits.quota_cores, quota_of_v1(path));
    if (lists(controllers, "memory"))
      for (const auto& path : with_ancestors(mount / "memory", group))
        keep_smallest(limits.memory_left_bytes,
                      memory_left(path, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"));
  }
  return limits;
}

} // namespace attnprof::profilers
