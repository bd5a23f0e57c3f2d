// A machine made of numbers: caches with capacities and rates, arithmetic with
// peaks, and a clock that follows them.
#pragma once

#include "profilers/machine_measure.hpp"
#include "tests/support/fake_clock.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::tests {

class FakeProbeRunner final : public profilers::ProbeRunner {
 public:
  struct Peak {
    Compute probe;
    double per_s = 0;            ///< of one thread
    bool optimised_away = false; ///< takes the same time whatever the work
  };
  struct Level {
    std::int64_t bytes = 0;         ///< of one thread; the last one is memory
    double bytes_per_s = 0;         ///< of one thread
    double most_bytes_per_s = 1e18; ///< of all threads
  };

  explicit FakeProbeRunner(FakeClock& clock) : clock_(clock) {}

  std::vector<Compute> compute_probes() const override {
    std::vector<Compute> probes;
    for (const Peak& peak : peaks)
      probes.push_back(peak.probe);
    return probes;
  }
  std::vector<profilers::AbsentCeiling> absent_probes() const override { return absent; }

  double run_compute(std::size_t probe, int, std::int64_t iterations) override {
    const Peak& peak = peaks[probe];
    const double work = peak.optimised_away ? 1e6 : peak.probe.work_per_iteration * static_cast<double>(iterations);
    return spend(work / peak.per_s);
  }
  bool offers(profilers::Traffic kind) const override {
    return non_temporal || (kind != profilers::Traffic::kWriteNt && kind != profilers::Traffic::kCopyNt &&
                            kind != profilers::Traffic::kTriadNt);
  }
  double run_traffic(profilers::Traffic kind, int threads, std::int64_t bytes_per_thread,
                     std::int64_t repeats) override {
    grain_held &= bytes_per_thread % (512 * profilers::arrays_of(kind)) == 0;
    largest_bytes = std::max(largest_bytes, bytes_per_thread * threads);
    const double bytes = static_cast<double>(bytes_per_thread * repeats);
    return spend(bytes / rate(kind, threads, bytes_per_thread));
  }
  double run_stream(profilers::Traffic kind, int threads, std::int64_t bytes_per_thread,
                    std::int64_t window_bytes) override {
    grain_held &= window_bytes % (512 * profilers::arrays_of(kind)) == 0 && window_bytes <= bytes_per_thread;
    ++streams;
    return spend(static_cast<double>(window_bytes) / rate(kind, threads, bytes_per_thread));
  }
  bool was_disturbed() const override { return disturbed_; }
  std::optional<double> cpu_clock_hz() override { return 3e9; }
  double run_empty_launches(int threads, int launches) override { return spend(1e-6 * threads * launches) / launches; }

  std::vector<Peak> peaks;
  std::vector<Level> levels;
  std::vector<profilers::AbsentCeiling> absent;
  bool non_temporal = true;
  std::function<double()> slowdown = [] { return 1.0; };
  /// Whether the run that begins is disturbed; asked before slowdown.
  std::function<bool()> disturbance = [] { return false; };
  bool grain_held = true;
  std::int64_t largest_bytes = 0;
  int streams = 0;

 private:
  double rate(profilers::Traffic kind, int threads, std::int64_t bytes_per_thread) const {
    std::size_t level = 0;
    while (level + 1 < levels.size() &&
           bytes_per_thread * (levels[level].most_bytes_per_s < 1e18 ? threads : 1) > levels[level].bytes)
      ++level;
    const double one = std::min(levels[level].bytes_per_s, levels[level].most_bytes_per_s / threads);
    return kind == profilers::Traffic::kWrite ? one / 2 : one;
  }
  double spend(double seconds) {
    disturbed_ = disturbance();
    const double spent = seconds * slowdown();
    clock_.advance_s(spent);
    return spent;
  }

  FakeClock& clock_;
  bool disturbed_ = false;
};

} // namespace attnprof::tests
