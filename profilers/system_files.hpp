// Small text files of /proc and /sys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace attnprof::profilers {

/// The whole file without trailing white space; absent when it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& path);

/// A file that holds one integer; absent otherwise.
std::optional<std::int64_t> read_integer(const std::filesystem::path& path);

/// Limits of the control groups (version 1 or 2) that hold this process, below `root`; absent where unlimited.
struct GroupLimits {
  std::optional<double> quota_cores;
  /// What may still be allocated; reclaimable file pages do not count as used.
  std::optional<std::int64_t> memory_left_bytes;
};
GroupLimits read_group_limits(const std::filesystem::path& root);

} // namespace attnprof::profilers
