// Two finished runs held against each other: `compare A B` and `sweep --baseline`.
#pragma once

#include "cli/command.hpp"
#include "cli/context.hpp"
#include "cli/gate.hpp"
#include "cli/gate_views.hpp"

#include <vector>

namespace attnprof::cli {

/// --junit, --md, --link.
std::vector<OptionSpec> gate_view_options();

/// Reads the gate's flags and says on stderr where a shared CI runner decides what is compared. Throws Error(kUsage).
GateOptions gate_of(const Arguments& arguments, Context& context);

/// Throws Error(kUsage) where times of unlike machines or builds would be compared, with what differs and the way out.
void require_alike(const reports::ResultSet& before, const reports::ResultSet& after, const GateOptions& options);

/// Prints the comparison and writes the views that were asked for; returns the exit code of the gate.
int present(const Comparison& comparison, const ComparedRuns& runs, const GateOptions& options,
            const Arguments& arguments, Context& context);

/// Every later run against the first one. Returns the lowest code that is not 0: 3 before 4 before 5 before 6.
int compare_runs(const Arguments& arguments, Context& context);

} // namespace attnprof::cli
