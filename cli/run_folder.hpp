// The folder that a sweep writes to: never over the records of another sweep.
#pragma once

#include "profilers/record.hpp"
#include "reports/files.hpp"
#include "reports/record_file.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::cli {

inline constexpr std::string_view kDefaultFolder = "attnprof-out";

struct RunFolder {
  std::filesystem::path path;
  std::vector<profilers::Record> earlier; ///< of the sweep that is resumed, in the order of the file
  std::vector<std::string> notes;         ///< sentences for stderr
  reports::RecordWriter writer;
};

/// Creates the folder and opens its records.jsonl, so that a path that cannot be written fails before anything runs.
/// A folder with records is continued with `resume` and refused without. Where no folder was asked for, a fresh
/// attnprof-out, attnprof-out-2, ... is taken, and `resume` continues the latest of them.
/// Throws Error(kIo | kUsage) that names the path.
RunFolder open_run_folder(reports::Files& files, const std::optional<std::string>& asked, bool resume);

} // namespace attnprof::cli
