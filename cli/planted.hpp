// A program that is slowed down on purpose, so that a comparison can show that it finds what it ought to find.
#pragma once

#include "operators/exec/executor.hpp"
#include "profilers/clock.hpp"

#include <memory>

namespace attnprof::cli {

/// Runs `inner` and then waits, busily, for `share` of the time that this run took.
std::unique_ptr<operators::Program> planted(std::unique_ptr<operators::Program> inner, double share,
                                            profilers::Clock& clock);

} // namespace attnprof::cli
