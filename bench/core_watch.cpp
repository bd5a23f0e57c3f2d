#include "bench/core_watch.hpp"

#include <algorithm>
#include <vector>

namespace attnprof::bench {
std::optional<double> CoreWatch::look() {
  const std::optional<double> rate = issue_rate_ ? issue_rate_() : std::nullopt;
  expect(rate);
  return rate;
}

bool CoreWatch::is_whole(std::optional<double> rate) const {
  return !rate || !best_ || !profilers::is_core_shared(*rate, *best_);
}

void CoreWatch::expect(std::optional<double> best) {
  if (best) {
    best_ = std::max(best_.value_or(0.0), *best);
  }
}

std::optional<double> least_issue_rate(const operators::ThreadTeam& team, profilers::HostProbe& host) {
  std::vector<std::optional<double>> rates(static_cast<std::size_t>(team.size()));
  team.run([&](int share) {
    profilers::SteadyClock clock;
    rates[static_cast<std::size_t>(share)] = profilers::measure_core(clock, host).issue_rate;
  });
  return *std::min_element(rates.begin(), rates.end());
}

} // namespace attnprof::bench
