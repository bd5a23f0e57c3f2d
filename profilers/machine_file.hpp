// Keeping a measured machine in a file, and knowing when not to trust it.
#pragma once

#include "profilers/machine.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::profilers {

/// Value of an environment variable; absent when it is not set.
using EnvironmentVariable = std::function<std::optional<std::string>(const std::string&)>;
std::optional<std::string> environment_variable(const std::string& name);

/// $XDG_CACHE_HOME/attnprof/machine-<fingerprint>.json, else the same below $HOME/.cache; absent when neither is set.
std::optional<std::filesystem::path> default_machine_path(const std::string& fingerprint,
                                                          const EnvironmentVariable& variable = environment_variable);

/// Writes the file as a whole or not at all, and creates its folder. Throws operators::Error(kIo).
void save_machine(const Machine& machine, const std::filesystem::path& path);

/// Reads a file whatever machine it is of. Throws operators::Error, kIo when it cannot be read, kInvalid when it is no
/// machine file of this version.
Machine read_machine_file(const std::filesystem::path& path);

/// The machine in `path` if it is of this fingerprint. A file that is unreadable, of another machine or of another
/// version is not trusted: the result is absent and a sentence is added to `warnings`. No file is no warning.
std::optional<Machine> load_machine(const std::filesystem::path& path, const std::string& expected_fingerprint,
                                    std::vector<std::string>& warnings);

/// The machine in the file, or else what `measure` finds, saved for the next time. A file that cannot be written only
/// warns. Without a path nothing is kept.
Machine load_or_measure(const std::optional<std::filesystem::path>& path, const std::string& expected_fingerprint,
                        const std::function<Machine()>& measure, std::vector<std::string>& warnings);

} // namespace attnprof::profilers
