// Machines and environments as JSON. Absent values are null.
#pragma once

#include "profilers/machine.hpp"

#include <nlohmann/json_fwd.hpp>

namespace attnprof::profilers {

nlohmann::ordered_json environment_to_json(const Environment& environment);
nlohmann::ordered_json machine_to_json(const Machine& machine);

/// Throws operators::Error(kInvalid) that names what is missing or malformed, or the schema version it cannot read.
Machine machine_from_json(const nlohmann::ordered_json& json);

} // namespace attnprof::profilers
