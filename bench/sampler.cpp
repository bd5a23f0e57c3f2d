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

/// One sample of each contestant after another, with looks at the cores around each.
class Sampler {
 public:
  Sampler(std::span<const Contestant> contestants, const SamplerOptions& options, profilers::Clock& clock,
          CoreWatch& watch)
      : contestants_(contestants), options_(options), clock_(clock), watch_(watch), rates_(contestants.size()) {
    for (const Contestant& contestant : contestants_) {
      plans_.push_back(plan_sample(contestant, options_, clock_));
    }
    out_.times_s.resize(contestants_.size());
    out_.whole.resize(contestants_.size());
  }

  Rounds run() {
    const std::int64_t begin_ns = clock_.now_ns();
    std::size_t round = 0;
    double spent_s = 0;
    const auto take_round = [&](std::size_t contestants) {
      for (std::size_t i = 0; i < contestants; ++i) {
        take(round % 2 == 0 ? i : contestants - 1 - i);
      }
      ++round;
      spent_s = profilers::seconds_between(begin_ns, clock_.now_ns());
    };
    while (round < options_.min_rounds || (round < options_.max_rounds && spent_s < options_.slice_s)) {
      take_round(contestants_.size());
    }
    mark_whole();
    while (spent_s < options_.patience_s && contestants_.size() >= 2 &&
           out_.rounds_of_pair(true) < options_.min_rounds) {
      take_round(2);
      mark_whole();
    }
    return std::move(out_);
  }

 private:
  void take(std::size_t which) {
    if (plans_[which].warm) {
      contestants_[which].run();
    }
    const std::optional<double> before = watch_.look();
    out_.times_s[which].push_back(seconds_per_run(contestants_[which], plans_[which].runs, clock_));
    rates_[which].push_back(std::min(before, watch_.look()));
  }

  /// By the best rate so far, which earlier rounds did not know.
  void mark_whole() {
    for (std::size_t i = 0; i < rates_.size(); ++i) {
      out_.whole[i].clear();
      for (const std::optional<double> rate : rates_[i]) {
        out_.whole[i].push_back(watch_.is_whole(rate));
      }
    }
  }

  std::span<const Contestant> contestants_;
  const SamplerOptions& options_;
  profilers::Clock& clock_;
  CoreWatch& watch_;
  std::vector<SamplePlan> plans_;
  std::vector<std::vector<std::optional<double>>> rates_;
  Rounds out_;
};

} // namespace

std::vector<std::size_t> Rounds::rounds(std::span<const std::size_t> contestants, bool only_whole) const {
  std::vector<std::size_t> out;
  const auto has = [&](std::size_t which, std::size_t round) {
    return round < times_s[which].size() && (!only_whole || whole[which][round]);
  };
  for (std::size_t round = 0; !contestants.empty() && round < times_s[contestants.front()].size(); ++round) {
    if (std::all_of(contestants.begin(), contestants.end(), [&](std::size_t which) { return has(which, round); })) {
      out.push_back(round);
    }
  }
  return out;
}

bool Rounds::shared(std::size_t a, std::size_t b) const {
  const std::vector<std::size_t> both{a, b};
  return rounds(both, true).size() < std::min(kFewestWhole, rounds(both, false).size());
}

std::size_t Rounds::rounds_of_pair(bool only_whole) const {
  return rounds(std::vector<std::size_t>{0, 1}, only_whole).size();
}

std::vector<std::size_t> Rounds::rounds_to_use(std::span<const std::size_t> contestants) const {
  std::vector<std::size_t> out = rounds(contestants, true);
  return out.size() < kFewestWhole ? rounds(contestants, false) : out;
}

std::optional<double> Rounds::median_time(std::size_t which) const {
  std::vector<double> times;
  for (const std::size_t round : rounds_to_use({&which, 1})) {
    times.push_back(times_s[which][round]);
  }
  return profilers::median(times);
}

std::optional<double> Rounds::median_ratio(std::size_t numerator, std::size_t denominator) const {
  std::vector<double> ratios;
  for (const std::size_t round : rounds_to_use(std::vector<std::size_t>{numerator, denominator})) {
    if (times_s[denominator][round] > 0) {
      ratios.push_back(times_s[numerator][round] / times_s[denominator][round]);
    }
  }
  return profilers::median(ratios);
}

Rounds sample(std::span<const Contestant> contestants, const SamplerOptions& options, profilers::Clock& clock,
              CoreWatch& watch) {
  return Sampler(contestants, options, clock, watch).run();
}

} // namespace attnprof::bench
