// run.json: what the rows of a run folder were measured with, so that --resume and merge put together only what
// belongs together.
#pragma once

#include "cli/options.hpp"
#include "cli/quantity.hpp"
#include "reports/files.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::cli {

/// One setting as a person would give it: "--timeout" and "5".
struct Setting {
  std::string name;
  std::string value; ///< "-" where it was not given and nothing stands for it
  friend bool operator==(const Setting&, const Setting&) = default;
};

struct RunManifest {
  std::vector<Setting> settings;
  std::string host;     ///< fingerprint of the machine and build that measures
  std::string ceilings; ///< fingerprint of the ceilings, which --hw may take from elsewhere
  Shard shard;
  std::size_t cases = 0; ///< of this shard
};

/// Every flag that changes what a row holds; values that are written differently and mean the same are equal.
std::vector<Setting> measuring_settings(const MeasuringRequest& measuring);

/// Absent where the folder has none. Throws Error(kUsage) where it cannot be understood.
std::optional<RunManifest> read_manifest(reports::Files& files, const std::filesystem::path& folder);
void write_manifest(reports::Files& files, const RunManifest& manifest, const std::filesystem::path& folder);

/// Throws Error(kUsage) that names the first setting in which the rows of `folder` differ from those to come, and the
/// way out.
void require_same_run(const RunManifest& earlier, const RunManifest& now, const std::filesystem::path& folder);

} // namespace attnprof::cli
