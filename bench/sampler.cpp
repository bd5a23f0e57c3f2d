#include "bench/sampler.hpp"

#include "profilers/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace attnprof::bench {
namespace {

/// More runs than this in one sample mean that the clock does not move.
constexpr double kMostRuns = 1e6;

double seconds_per_run(const Contestant& contestant, std::int64_t runs, profilers::Clock& clock) {
  const std::int64_t begin_ns = clock.now_ns();
  for (std::int64_t i = 0; i < runs; ++i) {
    contestant.run();
  }
  return profilers::seconds_between(begin_ns, clock.now_ns()) / static_cast<double>(runs);
}

/// Runs that fill a sample.
struct SamplePlan {
  std::int64_t runs = 1;
  bool warm = false; ///< one run before them
};

/// Found by doubling: a single short run is mostly the clock's own cost.
SamplePlan plan_sample(const Contestant& contestant, const SamplerOptions& options, profilers::Clock& clock) {
  contestant.run();
  std::int64_t runs = 1;
  double run_s = seconds_per_run(contestant, runs, clock);
  while (run_s * static_cast<double>(runs) < 0.25 * options.sample_s && static_cast<double>(runs) < kMostRuns) {
    runs *= 4;
    run_s = seconds_per_run(contestant, runs, clock);
  }
  const double wanted = run_s > 0 ? std::floor(options.sample_s / run_s) : kMostRuns;
  return {static_cast<std::int64_t>(std::clamp(wanted, 1.0, kMostRuns)), run_s < options.sample_s};
}

} // namespace

Rounds sample(std::span<const Contestant> contestants, const SamplerOptions& options, profilers::Clock& clock) {
  const std::size_t count = contestants.size();
  std::vector<SamplePlan> plans;
  for (const Contestant& contestant : contestants) {
    plans.push_back(plan_sample(contestant, options, clock));
  }
  Rounds out;
  out.times_s.resize(count);
  const std::int64_t begin_ns = clock.now_ns();
  for (std::size_t round = 0; round < options.max_rounds; ++round) {
    const double spent_s = profilers::seconds_between(begin_ns, clock.now_ns());
    if (round >= options.min_rounds && spent_s >= options.slice_s) {
      break;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t which = round % 2 == 0 ? i : count - 1 - i;
      if (plans[which].warm) {
        contestants[which].run();
      }
      out.times_s[which].push_back(seconds_per_run(contestants[which], plans[which].runs, clock));
    }
  }
  return out;
}

std::optional<double> median_ratio(std::span<const double> numerator, std::span<const double> denominator) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(numerator.size(), denominator.size()); ++i) {
    if (denominator[i] > 0) {
      ratios.push_back(numerator[i] / denominator[i]);
    }
  }
  return profilers::median(ratios);
}

} // namespace attnprof::bench
