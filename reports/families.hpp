// Cases that differ in one respect alone: eager and fused plans, the phases of one model, layouts of one shape.
#pragma once
#include "profilers/record.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attnprof::reports {

/// Measured cases that differ in the plan alone: index of the eager one, of the fused one.
std::vector<std::pair<std::size_t, std::size_t>> plan_pairs(const std::vector<profilers::Record>& records);

/// Measured cases that differ in nothing but phase and lengths: one model or variant on its way from prefill to decode.
struct Trajectory {
  std::string name;                 ///< "gqa standard fused": what tells it from the others
  std::vector<std::size_t> records; ///< prefill by growing length, then decode by growing length of the cache
};
/// Those with both phases.
std::vector<Trajectory> trajectories(const std::vector<profilers::Record>& records);

/// The key and value cache of cases that differ in nothing but phase and lengths.
struct CachePoint {
  std::size_t record = 0;
  std::int64_t length = 0; ///< tokens in the cache: past_len + seq_len
  std::int64_t bytes = 0;
};
struct CacheGrowth {
  std::string name;
  std::vector<CachePoint> points; ///< by growing length; of equal lengths, the first case
};
/// Those with a cache, counted from the records: no run is needed.
std::vector<CacheGrowth> cache_growth(const std::vector<profilers::Record>& records);

/// What a primitive stands for in a sum of time: "matrix products", "fused attention", "softmax", "convolutions",
/// "norms", "element-wise", "copies".
std::string kernel_class(const std::string& op);

/// How often a case attends: mixers among its launches, those of skipped blocks not counted; 1 for layout op.
/// Absent where nothing was counted.
std::optional<std::int64_t> attention_passes(const profilers::Record& record);

/// Timed cases that differ in the layout alone (its depth and FFNs included), in the order of their first case; a
/// family of one layout has cases of that layout only.
struct LayoutFamily {
  std::string name;
  std::vector<std::size_t> records; ///< by layout
  std::size_t layouts = 0;          ///< how many different ones
};
std::vector<LayoutFamily> layout_families(const std::vector<profilers::Record>& records);

} // namespace attnprof::reports
