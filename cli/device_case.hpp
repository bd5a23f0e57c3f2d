// What measuring a case on a GPU adds: events as the timer, activity records, counters, the state of the card.
#pragma once

#include "cli/case_runner.hpp"

namespace attnprof::cli {

/// Sets the timer and the device's part of the record of a case whose program is ready.
void begin_device_case(PreparedCase& prepared, profilers::Clock& host);

/// Runs one launch and waits for it, on whatever runs it.
void run_launch_to_its_end(const PreparedCase& prepared, std::size_t launch);

/// A timer for single launches; null on the host.
std::unique_ptr<profilers::Clock> launch_timer(const PreparedCase& prepared, profilers::Clock& host);

/// After the samples: the state of the card during them, times of launches from activity records in place of events,
/// and counters. Those are read in a process of their own unless this one is it, since a profiler that was attached
/// once stays in the process. What cannot be had is left out, and the record says why.
void explain_device_case(PreparedCase& prepared, const MeasuringRequest& measuring, Seams& seams);

} // namespace attnprof::cli
