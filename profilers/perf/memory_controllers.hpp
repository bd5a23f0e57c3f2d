// Counters of memory controllers, from what the kernel lists of them: pure functions of a made-up or real /sys.
#pragma once

#include "profilers/perf/perf_system.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::profilers {

/// One counter of one controller: reads or writes of lines, whoever caused them.
struct ControllerEvent {
  std::string name; ///< "uncore_imc_0/cas_count_read"
  EventCode code;
  int processor = 0; ///< that it is opened on
  double bytes = 64; ///< of one count
  bool operator==(const ControllerEvent&) const = default;
};

/// Reads and writes of every controller below `root`/sys/bus/event_source/devices: Intel's uncore_imc by the events
/// that it lists (cas_count_read and _write, data_reads and _writes), AMD's amd_umc by UMC_CAS_CMD (PPR, UMC PMC 0x0a,
/// reads and writes by RdWrMask). Empty where there are none, as in virtual machines.
std::vector<ControllerEvent> memory_controller_events(const std::filesystem::path& root);

/// "event=0x04,umask=0x03" placed by the formats of `device` ("config:0-7"); absent where one of them is not listed.
std::optional<EventCode> placed_event(const std::filesystem::path& device, std::string_view terms);

} // namespace attnprof::profilers
