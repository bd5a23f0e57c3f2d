// Where the ceilings of a command come from: a file that was named, the cache, or a measurement.
#pragma once

#include "cli/command.hpp"
#include "cli/context.hpp"
#include "profilers/machine.hpp"

#include <optional>

namespace attnprof::cli {

/// --hw for the commands that hold cases against ceilings.
OptionSpec hardware_option();

/// A machine file that `machine measure -o` or a sweep wrote, a data sheet as JSON, or the name of a built-in data
/// sheet. Throws Error(kUsage | kIo | kInvalid) that names it.
profilers::Machine machine_from(reports::Files& files, const std::string& name_or_path);

/// Ceilings without measuring any: of --hw, else of the cache where it belongs to this machine and build; absent with a
/// sentence on stderr that says how to get them.
std::optional<profilers::Machine> known_machine(const Arguments& arguments, Context& context);

/// The same, but measures and caches them where they are not known (a few seconds, announced on stderr).
profilers::Machine measured_machine(const Arguments& arguments, Context& context);

/// Measures thoroughly in any case, and caches the best of this and earlier measurements, or with `fresh` this one.
profilers::Machine measure_and_cache(Context& context, bool fresh);

/// Writes the file that --hw and `report` read.
void write_machine(reports::Files& files, const profilers::Machine& machine, const std::filesystem::path& file);

} // namespace attnprof::cli
