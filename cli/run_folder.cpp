#include "cli/run_folder.hpp"

#include "operators/core/error.hpp"

#include <fmt/format.h>

namespace attnprof::cli {
namespace {

using operators::Error;
using operators::ErrorKind;

std::filesystem::path records_in(const std::filesystem::path& folder) {
  return folder / "records.jsonl";
}

bool holds_records(reports::Files& files, const std::filesystem::path& folder) {
  return files.is_directory(folder) && !files.read(records_in(folder)).value_or("").empty();
}

std::filesystem::path numbered(int number) {
  return number == 1 ? std::string(kDefaultFolder) : fmt::format("{}-{}", kDefaultFolder, number);
}

/// The first default folder without records, or with `resume` the last one that has some.
std::filesystem::path default_folder(reports::Files& files, bool resume, std::vector<std::string>& notes) {
  int number = 1;
  while (holds_records(files, numbered(number))) {
    ++number;
  }
  const int chosen = resume && number > 1 ? number - 1 : number;
  if (chosen > 1 || (resume && number > 1)) {
    notes.push_back(resume ? fmt::format("continuing {}", numbered(chosen).string())
                           : fmt::format("{} holds an earlier sweep, so this one goes to {}",
                                         numbered(chosen - 1).string(), numbered(chosen).string()));
  }
  return numbered(chosen);
}

} // namespace

RunFolder open_run_folder(reports::Files& files, const std::optional<std::string>& asked, bool resume) {
  std::vector<std::string> notes;
  const std::filesystem::path folder = asked ? std::filesystem::path(*asked) : default_folder(files, resume, notes);
  if (!resume && holds_records(files, folder)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' holds the records of an earlier sweep: continue it with --resume, or give "
                            "another folder with -o",
                            folder.string()));
  }
  files.make_directory(folder);
  if (!resume) {
    return {folder, {}, std::move(notes), reports::RecordWriter::create(files, records_in(folder))};
  }
  reports::RecordLines lines;
  reports::RecordWriter writer = reports::RecordWriter::resume(files, records_in(folder), lines);
  notes.insert(notes.end(), lines.notes.begin(), lines.notes.end());
  return {folder, std::move(lines.records), std::move(notes), std::move(writer)};
}

} // namespace attnprof::cli
