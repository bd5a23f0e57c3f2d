// Workloads measured in turns: `compare WORKLOAD...`.
#pragma once

#include "cli/command.hpp"
#include "cli/context.hpp"
#include "cli/options.hpp"

#include <optional>
#include <vector>

namespace attnprof::cli {

/// --equal, --vary, --plant.
std::vector<OptionSpec> turn_options();

int compare_workloads(const Arguments& arguments, Context& context);

/// Medians of cases measured in turns; a case that cannot run says so on stderr and has none.
std::vector<std::optional<double>> medians_in_turns(const std::vector<operators::Config>& configs,
                                                    const MeasuringRequest& measuring, Context& context);

} // namespace attnprof::cli
