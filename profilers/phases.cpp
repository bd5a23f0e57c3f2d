#include "profilers/phases.hpp"

#include <numeric>
#include <utility>

namespace attnprof::profilers {

std::string_view name_of(Phase phase) {
  static constexpr std::array<std::string_view, kPhases> kNames = {"ceilings of the machine",
                                                                   "lowering and counting",
                                                                   "buffers and packing",
                                                                   "verification",
                                                                   "warm-up",
                                                                   "samples",
                                                                   "single launches",
                                                                   "counters and energy",
                                                                   "evicting caches",
                                                                   "between samples",
                                                                   "writing records",
                                                                   "writing reports",
                                                                   "other"};
  return kNames.at(static_cast<std::size_t>(phase));
}

Phase PhaseClock::enter(Phase phase) {
  const std::int64_t now_ns = clock_.now_ns();
  times_s_[static_cast<std::size_t>(phase_)] += seconds_between(begin_ns_, now_ns);
  begin_ns_ = now_ns;
  return std::exchange(phase_, phase);
}

void PhaseClock::claim(Phase phase, double time_s) {
  times_s_[static_cast<std::size_t>(phase_)] -= time_s;
  times_s_[static_cast<std::size_t>(phase)] += time_s;
}

double PhaseClock::time_s(Phase phase) {
  enter(phase_);
  return times_s_[static_cast<std::size_t>(phase)];
}

double PhaseClock::total_s() {
  enter(phase_);
  return std::accumulate(times_s_.begin(), times_s_.end(), 0.0);
}

double PhaseClock::measuring_share() {
  const double whole_s = total_s();
  double measuring_s = 0;
  for (std::size_t i = 0; i < kPhases; ++i) {
    measuring_s += is_measuring(static_cast<Phase>(i)) ? times_s_[i] : 0.0;
  }
  return whole_s > 0 ? measuring_s / whole_s : 0.0;
}

} // namespace attnprof::profilers
