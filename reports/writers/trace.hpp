// The launches of a case as a timeline for chrome://tracing and ui.perfetto.dev.
#pragma once
#include "profilers/record.hpp"

#include <string>
#include <vector>

namespace attnprof::reports {

/// {"traceEvents": [...], "displayTimeUnit": "ns"}: a process a case, named by its id, on whose one track the launches
/// lie end to end, inside slices for the parts of their scopes. The times are medians of a pass that timed each launch
/// by itself, so the track is no recording of one run; its metadata say so. Cases whose launches were not timed are
/// left out. Format: Trace Event Format (Google), complete events.
/// Throws operators::Error(kUsage) where no launch of any case was timed.
std::string trace_json(const std::vector<profilers::Record>& records);

} // namespace attnprof::reports
