// The probes of this binary on this processor.
#pragma once

#include "profilers/host_probe.hpp"
#include "profilers/machine_measure.hpp"
#include "profilers/mapped_buffer.hpp"
#include "profilers/probe_kernels.hpp"
#include "profilers/thread_team.hpp"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace attnprof::profilers {

/// Probe tables that this processor can run, narrowest instruction set first;
/// never empty.
std::vector<const ProbeTable*> runnable_probe_tables();

/// Runs probes on pinned threads over memory that each thread touched itself.
/// Bandwidth uses the widest instruction set.
class SystemProbeRunner final : public ProbeRunner {
 public:
  explicit SystemProbeRunner(const Environment& environment);
  ~SystemProbeRunner() override;

  std::vector<Compute> compute_probes() const override;
  std::vector<AbsentCeiling> absent_probes() const override;
  double run_compute(std::size_t probe, int threads, std::int64_t iterations) override;
  bool offers(Traffic kind) const override;
  double run_traffic(Traffic kind, int threads, std::int64_t bytes_per_thread, std::int64_t repeats) override;
  double run_stream(Traffic kind, int threads, std::int64_t bytes_per_thread, std::int64_t window_bytes) override;
  bool was_disturbed() const override { return was_disturbed_; }
  std::optional<double> cpu_clock_hz() override;
  double run_empty_launches(int threads, int launches) override;

 private:
  struct Runnable {
    const ProbeTable* table;
    const ComputeProbe* probe;
  };

  ThreadTeam& team_of(int threads);
  double timed(ThreadTeam& team, const std::function<void(int)>& prepare, const std::function<void(int)>& run);
  void provide_memory(ThreadTeam& team, std::int64_t bytes_per_thread);

  std::vector<int> cpus_;
  std::vector<Runnable> compute_;
  std::map<int, std::unique_ptr<ThreadTeam>> teams_;
  std::vector<MappedBuffer> memory_; ///< of each thread
  std::int64_t stream_bytes_ = 0;    ///< streamed so far by each thread
  bool was_disturbed_ = false;       ///< in the last run
  SteadyClock clock_;
  LinuxHostProbe host_;
};

} // namespace attnprof::profilers
