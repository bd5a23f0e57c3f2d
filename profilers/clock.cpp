#include "profilers/clock.hpp"

#include "profilers/statistics.hpp"

#include <chrono>
#include <vector>

namespace attnprof::profilers {

double Clock::time_s(const std::function<void()>& body, std::int64_t /*runs*/) {
  const std::int64_t begin = now_ns();
  body();
  return seconds_between(begin, now_ns());
}

std::int64_t SteadyClock::now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TimerQuality probe_timer(Clock& clock, std::int64_t max_reads) {
  constexpr std::size_t kSteps = 64;
  std::vector<double> steps;
  const std::int64_t begin = clock.now_ns();
  std::int64_t last = begin;
  std::int64_t reads = 0;
  while (reads < max_reads && steps.size() < kSteps) {
    const std::int64_t now = clock.now_ns();
    ++reads;
    if (now > last)
      steps.push_back(seconds_between(last, now));
    last = now;
  }
  TimerQuality quality;
  quality.resolution_s = median(steps);
  if (!steps.empty())
    quality.overhead_s = seconds_between(begin, last) / static_cast<double>(reads);
  return quality;
}

} // namespace attnprof::profilers
