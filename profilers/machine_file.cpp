#include "profilers/machine_file.hpp"

#include "operators/core/error.hpp"
#include "profilers/machine_json.hpp"
#include "profilers/system_files.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace attnprof::profilers {
namespace fs = std::filesystem;

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<fs::path> default_machine_path(const std::string& fingerprint, const EnvironmentVariable& variable) {
  const auto cache = variable("XDG_CACHE_HOME");
  const auto home = variable("HOME");
  fs::path folder;
  if (cache && fs::path(*cache).is_absolute()) // the XDG rules: a relative path is to be ignored
    folder = *cache;
  else if (home && !home->empty())
    folder = fs::path(*home) / ".cache";
  else
    return std::nullopt;
  return folder / "attnprof" / fmt::format("machine-{}.json", fingerprint);
}

void save_machine(const Machine& machine, const fs::path& path) {
  const auto refuse = [&](const std::string& why) {
    throw operators::Error(operators::ErrorKind::kIo,
                           fmt::format("cannot write the machine file {}: {}", path.string(), why));
  };
  std::error_code error;
  if (path.has_parent_path())
    fs::create_directories(path.parent_path(), error);
  if (error)
    refuse(error.message());
  // Renamed into place, so that a reader never sees half a file and two writers do not mix theirs.
  fs::path temporary = path;
  temporary += fmt::format(".{}.part", ::getpid());
  std::ofstream file(temporary);
  file << machine_to_json(machine).dump(2) << '\n';
  file.close();
  if (!file) {
    fs::remove(temporary, error);
    refuse("the folder or the disk does not take it; name another one with -o");
  }
  fs::rename(temporary, path, error);
  if (error) {
    const std::string why = error.message();
    fs::remove(temporary, error);
    refuse(why);
  }
}

Machine read_machine_file(const fs::path& path) {
  const auto text = fs::is_directory(path) ? std::nullopt : read_text(path);
  if (!text)
    throw operators::Error(
        operators::ErrorKind::kIo,
        fmt::format("cannot read the machine file {}; attnprof machine measure -o FILE makes one", path.string()));
  const auto json = nlohmann::ordered_json::parse(*text, nullptr, false);
  if (json.is_discarded())
    throw operators::Error(operators::ErrorKind::kInvalid,
                           fmt::format("the machine file {} is no JSON", path.string()));
  return machine_from_json(json);
}

std::optional<Machine> load_machine(const fs::path& path, const std::string& expected_fingerprint,
                                    std::vector<std::string>& warnings) {
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    return std::nullopt;
  try {
    Machine machine = read_machine_file(path);
    if (machine.fingerprint == expected_fingerprint)
      return machine;
    warnings.push_back(fmt::format("{} describes another machine or build (fingerprint {}, this one is {}); its "
                                   "ceilings are not used",
                                   path.string(), machine.fingerprint, expected_fingerprint));
  } catch (const operators::Error& error) {
    warnings.push_back(fmt::format("{}; {} is not used", error.what(), path.string()));
  }
  return std::nullopt;
}

Machine load_or_measure(const std::optional<fs::path>& path, const std::string& expected_fingerprint,
                        const std::function<Machine()>& measure, std::vector<std::string>& warnings) {
  if (path)
    if (auto machine = load_machine(*path, expected_fingerprint, warnings))
      return *std::move(machine);
  Machine machine = measure();
  if (!path)
    return machine;
  try {
    save_machine(machine, *path);
  } catch (const operators::Error& error) {
    warnings.push_back(fmt::format("{}; the machine will be measured again next time", error.what()));
  }
  return machine;
}

} // namespace attnprof::profilers
