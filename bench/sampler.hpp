// Times several things in alternation, so that ratios are of times taken within milliseconds of each other.
#pragma once

#include "profilers/clock.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attnprof::bench {

/// One of the things that are timed beside each other.
struct Contestant {
  std::string name;
  std::function<void()> run;
};

struct SamplerOptions {
  /// A sample is as many runs in a row as take this long, at least one. Shorter runs are made once before: the other
  /// contestants emptied the caches, and repeated runs, which the tool measures, find in them what the last one left.
  double sample_s = 4e-3;
  double slice_s = 1.0; ///< rounds stop when they have taken this long, once there are min_rounds
  std::size_t min_rounds = 5;
  std::size_t max_rounds = 21;
};

/// times_s[contestant][round]: seconds of one run. Rounds go through the contestants forwards and backwards in turn
/// (A B C, C B A), after one round that only warms up and finds how many runs make a sample.
struct Rounds {
  std::vector<std::vector<double>> times_s;
};
Rounds sample(std::span<const Contestant> contestants, const SamplerOptions& options, profilers::Clock& clock);

/// Median over the rounds of numerator / denominator; absent without rounds.
std::optional<double> median_ratio(std::span<const double> numerator, std::span<const double> denominator);

} // namespace attnprof::bench
