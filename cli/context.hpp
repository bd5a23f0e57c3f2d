// What a command works with: streams and the seams to everything outside the process.
#pragma once

#include "cli/child_process.hpp"
#include "cli/interrupt.hpp"
#include "cli/shared_runner.hpp"
#include "operators/exec/executor.hpp"
#include "profilers/clock.hpp"
#include "profilers/energy.hpp"
#include "profilers/environment.hpp"
#include "profilers/host_probe.hpp"
#include "profilers/perf/counters.hpp"
#include "profilers/probes.hpp"
#include "profilers/simulate/simulator.hpp"
#include "reports/files.hpp"
#include "reports/result_set.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::cli {

/// Everything that a test replaces.
struct Seams {
  /// Throws operators::Error(kUnavailable) with the reason where this build or host lacks the device.
  std::function<std::unique_ptr<operators::Executor>(std::string_view device)> make_executor;
  std::shared_ptr<profilers::Clock> clock;
  std::shared_ptr<profilers::HostProbe> host;
  std::shared_ptr<reports::Files> files;
  std::function<profilers::Environment()> environment; ///< as it is now: free memory changes
  /// Measures the ceilings in about so many seconds.
  std::function<profilers::Machine(double budget_s)> measure_machine;
  /// Where ceilings of a fingerprint are kept; absent: nowhere.
  std::function<std::optional<std::filesystem::path>(const std::string& fingerprint)> machine_path;
  std::function<profilers::DoctorHost()> doctor_host;
  /// Those of this process: one object, which is made at the first call. Empty: there are none.
  std::function<profilers::Counters&()> counters;
  reports::PlotRunner plot;
  /// Runs this program again in a process of its own.
  std::function<ChildResult(const std::vector<std::string>& args, double timeout_s)> run_self;
  std::shared_ptr<profilers::EnergyMeter> energy; ///< null: nothing reads energy
  /// One warm run of a case under valgrind, within `timeout_s`. Empty: there is no valgrind.
  std::function<profilers::Simulation(const std::string& case_id, std::uint64_t seed,
                                      const profilers::SimulatedCaches& caches, double timeout_s)>
      simulate;
  std::shared_ptr<Interrupt> interrupt;
  Variable variable; ///< of the environment; empty: there are none
  bool err_is_terminal = false;
  std::size_t terminal_columns = 100;
};

/// Those of this process.
Seams system_seams();

struct Context {
  std::ostream& out;
  std::ostream& err;
  Seams& seams;
};

} // namespace attnprof::cli
