// A case run without being measured, for a program that watches from outside.
#pragma once

#include "cli/sweep_plan.hpp"
#include "operators/exec/executor.hpp"

#include <cstdint>

namespace attnprof::cli {

/// Runs every launch once to warm up, then `runs` times through the function that the simulator looks for
/// (profilers::kCountedLaunchSymbol). The result is not checked. Throws Error as the executor does.
void replay(const PlannedCase& planned, std::int64_t runs, std::uint64_t seed, int threads,
            const operators::Executor& executor);

} // namespace attnprof::cli
