// The benchmark as a function of its arguments, so that tests run it in their own process.
#pragma once

#include "bench/peer.hpp"
#include "operators/exec/executor.hpp"
#include "profilers/clock.hpp"
#include "profilers/host_probe.hpp"

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace attnprof::bench {

/// What the benchmark takes from outside: the libraries for an instruction set, the time, and loops that tell whether a
/// core is shared.
struct Seams {
  std::function<std::vector<PeerLibrary>(const std::string& isa)> libraries;
  profilers::Clock* clock = nullptr;
  profilers::HostProbe* host = nullptr; ///< null: cores that are shared are not told apart
};

/// Exit codes: 0, also where bars are missed, since that is a result; 2 for arguments that cannot be understood.
int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err, Seams& seams);

/// Runs a program once; scripts/bench --instructions counts what happens in here.
void counted_run(operators::Program& program);

} // namespace attnprof::bench
