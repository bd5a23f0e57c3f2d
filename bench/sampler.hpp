// Times several things in alternation, so that ratios are of times taken within milliseconds of each other.
#pragma once

#include "bench/core_watch.hpp"
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
  /// While fewer than min_rounds had their cores to themselves, the first two contestants go on alone for so long.
  double patience_s = 0.0;
};

/// Fewer whole rounds than this have no median worth the name.
inline constexpr std::size_t kFewestWhole = 3;

/// times_s[contestant][round]: seconds of one run. Rounds go through the contestants forwards and backwards in turn
/// (A B C, C B A), after one round that only warms up and finds how many runs make a sample. whole[contestant][round]:
/// the sample's cores were its own just before and just after it. The first two contestants may have more rounds than
/// the others.
struct Rounds {
  std::vector<std::vector<double>> times_s;
  std::vector<std::vector<bool>> whole;

  /// Rounds that all these contestants have, or those in which all their samples were whole.
  [[nodiscard]] std::vector<std::size_t> rounds(std::span<const std::size_t> contestants, bool only_whole) const;
  /// Whether too few of their rounds were whole to rest on.
  [[nodiscard]] bool shared(std::size_t a, std::size_t b) const;
  /// How many there are of the first two contestants.
  [[nodiscard]] std::size_t rounds_of_pair(bool only_whole) const;
  /// The rounds that figures of these contestants rest on: those that were whole, if there are three, else all.
  [[nodiscard]] std::vector<std::size_t> rounds_to_use(std::span<const std::size_t> contestants) const;
  /// Median of the time of one contestant, and of its ratio to that of another within a round. Absent without rounds.
  [[nodiscard]] std::optional<double> median_time(std::size_t which) const;
  [[nodiscard]] std::optional<double> median_ratio(std::size_t numerator, std::size_t denominator) const;
};
/// Rounds are sought in which the first two contestants were whole.
Rounds sample(std::span<const Contestant> contestants, const SamplerOptions& options, profilers::Clock& clock,
              CoreWatch& watch);

} // namespace attnprof::bench
