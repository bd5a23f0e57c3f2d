// Work against time: which cases can be ranked against each other, and what their order says.
#pragma once
#include "profilers/record.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attnprof::reports {

/// Pairs of cases that can be ranked against each other: same device, threads, dtype, cache policy, layout, plan, phase
/// and shape (batch, lengths, grid, dim, heads, depth, causal), FLOPs that differ by more than 1 %, and times whose
/// intervals do not overlap (BUG-198). Cases that are not STABLE are left out.
struct FlopsAgainstTime {
  std::size_t unsteady = 0; ///< cases that were left out
  std::size_t pairs = 0;
  std::size_t agreeing = 0; ///< where fewer FLOPs took less time
  /// The pairs that contradict: indices of the case with fewer FLOPs and of the faster one. The clearest come first: by
  /// the ratio of FLOPs times the ratio of times. At most kMostContradictions are kept.
  std::vector<std::pair<std::size_t, std::size_t>> contradictions;
};
inline constexpr std::size_t kMostContradictions = 50;
FlopsAgainstTime flops_against_time(const std::vector<profilers::Record>& records);

/// Places of the points that no other point reaches in both coordinates: nothing with at least as much work is as fast.
/// From left to right; of equal points, the first.
std::vector<std::size_t> pareto_front(const std::vector<std::pair<double, double>>& points);

/// Spearman's rank correlation, ties at their mean rank: 1 where both grow together, -1 where one falls as the other
/// grows. Absent for fewer than three points or where all of one side are equal.
std::optional<double> rank_correlation(const std::vector<std::pair<double, double>>& points);

/// Launch time of a case, taken apart by what it is spent on; the parts add up to the launch time.
struct TimeParts {
  double products_s = 0;   ///< matrix products and convolutions that memory does not bound
  double bytes_s = 0;      ///< launches that memory bounds
  double launches_s = 0;   ///< launches that overhead bounds
  double arithmetic_s = 0; ///< everything else: element-wise arithmetic, exponentials
};
/// Absent unless every launch was timed and judged.
std::optional<TimeParts> time_parts(const profilers::Record& record);

/// Why a case is slower than another although it does less work.
struct Contradiction {
  std::size_t light = 0; ///< fewer FLOPs, more time
  std::size_t heavy = 0;
  double flops_ratio = 0;                   ///< light / heavy, below 1
  double time_ratio = 0;                    ///< light / heavy, above 1
  std::optional<double> bytes_ratio;        ///< light / heavy
  std::optional<double> launches_ratio;     ///< light / heavy
  std::optional<double> product_rate_ratio; ///< FLOP/s of matrix products, light / heavy
  std::string why;                          ///< a sentence, the largest part of the excess first
};
Contradiction explain(const std::vector<profilers::Record>& records, std::size_t light, std::size_t heavy);

} // namespace attnprof::reports
