// From one planned case to its one record (R3).
#pragma once

#include "cli/context.hpp"
#include "cli/options.hpp"
#include "cli/sweep_plan.hpp"
#include "operators/core/graph.hpp"
#include "operators/exec/reference.hpp"
#include "profilers/gpu/device_clock.hpp"
#include "profilers/phases.hpp"
#include "profilers/record.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace attnprof::cli {

/// A case counted without running it.
struct CostedCase {
  profilers::Record record; ///< id, config, totals, launches
  operators::Graph launches;
};
/// Throws Error(kInvalid | kOverflow).
CostedCase cost_case(const PlannedCase& planned);

/// The totals of cases, one after another in the memory of one list of launches. Plans that follow each other, which
/// are the innermost of the axes, share the list that they are made from.
class TotalsCounter {
 public:
  /// cost_case(planned).record.totals. Throws as cost_case does.
  operators::Totals count(const PlannedCase& planned);

 private:
  operators::Graph graph_;
  std::string built_; ///< id, without its plan, of the case whose eager plan is graph_; empty: none
};

/// The device that a case asks for.
std::string device_of(const operators::Config& config);

/// Fills the bytes by level of each launch by the cache model: for the CPU, where the system lists caches.
void add_modelled_traffic(profilers::Record& record, const operators::Graph& launches,
                          const profilers::Environment& environment, profilers::CachePolicy policy);

/// The record of a case that never got as far as counting.
profilers::Record rejected_record(const PlannedCase& planned, profilers::Status status, std::string reason);

/// A case that is ready to be timed, or the record that says why it is not.
struct PreparedCase {
  profilers::Record record;
  operators::Graph launches;
  std::unique_ptr<operators::Program> program; ///< null unless record.status is ok
  profilers::CacheControl cache;
  double first_run_s = 0;                   ///< of all launches one by one, before anything is measured
  operators::gpu::Device* device = nullptr; ///< borrowed from the executor; null on the host
  std::unique_ptr<profilers::DeviceClock> device_clock;

  /// What times runs of the program: the host's clock, or events on the device.
  [[nodiscard]] profilers::Clock& timer(Seams& seams) const {
    return device_clock != nullptr ? static_cast<profilers::Clock&>(*device_clock) : *seams.clock;
  }
};

/// Measures cases one after the other. Whatever goes wrong with a case ends in its record.
class CaseRunner {
 public:
  /// Throws Error(kUnavailable) where counters are required and the processor's cannot be read, or valgrind is wanted
  /// and not there (exit 7).
  /// `phases`, which may be null, is told what the time goes to.
  CaseRunner(Seams& seams, MeasuringRequest measuring, const profilers::Machine* machine,
             profilers::PhaseClock* phases = nullptr);
  ~CaseRunner();

  /// Counts, checks memory, prepares, verifies, warms up, times, times launches, derives. A case that was interrupted
  /// is skipped, without a measurement. `share_s` is the part of a time that several cases share; the timeout is then
  /// no longer than that.
  profilers::Record run(const PlannedCase& planned, std::optional<double> share_s = std::nullopt);

  /// As far as the first run after verification. A case that takes far more than the timeout is skipped.
  PreparedCase prepare(const PlannedCase& planned);
  /// Launch times within `most_s`, kernels and verdicts of a case whose `record.measured` is set.
  void explain(PreparedCase& prepared, double most_s);

 private:
  void make_ready(PreparedCase& prepared);
  void check_memory(const operators::Executor& executor, const operators::Graph& launches,
                    const operators::ExecOptions& options) const;
  bool is_too_long(profilers::Record& record) const;
  const operators::TensorValues& reference_of(const operators::Config& config, const operators::Graph& launches);
  void verify(PreparedCase& prepared, operators::Executor& executor, const operators::ExecOptions& options);
  void set_cache_policy(PreparedCase& prepared);
  profilers::CacheEvictor* phased(profilers::CacheEvictor& evictor);
  void run_first(PreparedCase& prepared);
  void time_case(PreparedCase& prepared, double timeout_s);
  void time_launches(PreparedCase& prepared, double most_s);
  void count(PreparedCase& prepared, double most_s);
  void simulate(PreparedCase& prepared);
  void add_model(PreparedCase& prepared) const;
  void add_energy(PreparedCase& prepared);
  bool counts(const profilers::Record& record) const;
  operators::Executor& executor_for(const std::string& device);

  Seams& seams_;
  MeasuringRequest measuring_;
  const profilers::Machine* machine_;
  profilers::PhaseClock* phases_;
  std::string counter_origin_;
  std::map<std::string, std::unique_ptr<operators::Executor>> executors_;
  std::string referenced_;            ///< id of the case that reference_ is the result of, without its plan
  operators::TensorValues reference_; ///< of the last case that was checked
  std::unique_ptr<profilers::CacheEvictor> evictor_;
  std::unique_ptr<profilers::CacheEvictor> device_evictor_;
  std::unique_ptr<profilers::CacheEvictor> phased_evictor_; ///< around one of them, where phases are told apart
};

/// Throws Error(kUnavailable) where no case of the plan can run because its device is absent (exit 7).
void require_a_device(const SweepPlan& plan, Seams& seams);

inline constexpr std::string_view kInterruptedReason = "interrupted before it was measured";

} // namespace attnprof::cli
