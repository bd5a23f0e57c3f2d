// What a set of measured cases says beyond single bounds, in plain sentences for the head of the report.
#pragma once
#include "profilers/record.hpp"

#include <string>
#include <utility>
#include <vector>

namespace attnprof::reports {

/// Rank correlation of FLOPs and time per item over the steady cases of one item kind.
struct ItemCorrelation {
  std::string item; ///< image or token
  std::size_t cases = 0;
  double value = 0;
};
std::vector<ItemCorrelation> work_time_correlations(const std::vector<profilers::Record>& records);

/// One sentence each, as far as the records hold it: whether work predicts time, what fusing gains, how the layouts
/// compare, how decode differs from prefill, how much of it is steady. Names a heading and its sentence.
std::vector<std::pair<std::string, std::string>> findings(const std::vector<profilers::Record>& records);

} // namespace attnprof::reports
