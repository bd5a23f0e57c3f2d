// The history of many runs in one SQLite file.
#pragma once

#include "reports/trend.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace attnprof::cli {

/// Whether this build has SQLite; without it open_history throws.
bool has_history();

class HistoryFile {
 public:
  virtual ~HistoryFile() = default;
  /// Keeps a run with its records (without single samples); `run.number` is assigned. Without `added_on`, now.
  /// Returns its number, or 0 where the same records are there already.
  virtual std::int64_t add(const reports::PastRun& run) = 0;
  /// All runs with their records, oldest first.
  virtual std::vector<reports::PastRun> runs() = 0;
};

/// Opens a file, or makes it where `create` is set. Throws Error(kUnavailable) where the build has no SQLite,
/// Error(kIo) where the file cannot be opened, Error(kUsage) where it is something else or of another version.
std::unique_ptr<HistoryFile> open_history(const std::filesystem::path& path, bool create);

} // namespace attnprof::cli
