// What others did to the machine while it was measured.
#pragma once

#include "profilers/clock.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace attnprof::profilers {

/// Processor time so far, in seconds; absent where the system does not tell.
struct LoadReading {
  std::int64_t at_ns = 0;
  std::optional<double> busy_s; ///< of everything on the machine, steal included
  std::optional<double> own_s;  ///< of this process
};
/// From `root`/proc/stat and getrusage.
LoadReading read_load(const std::filesystem::path& root, Clock& clock);

/// Seconds of the first line of /proc/stat in which a processor was not idle; absent for other texts.
std::optional<double> parse_busy_s(const std::string& proc_stat, double ticks_per_s);

/// A sentence where others used more than a tenth of `cores` processors between the readings: rates of one measurement
/// may then all lie below what the machine does alone, which their spread cannot show.
std::optional<std::string> note_of_load(const LoadReading& before, const LoadReading& after, int cores);

} // namespace attnprof::profilers
