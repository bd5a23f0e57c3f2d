// Launches that differ only in the block they belong to, taken together: a network of 24 blocks prints as one.
#pragma once
#include "profilers/record.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::reports {

/// Sums over the launches of a group. A time is absent where one of its launches has none.
struct LaunchGroup {
  std::string scope; ///< "block*/mixer/scores" where there are several
  std::string op;
  std::string shape;
  std::string kernel_impl;
  std::size_t count = 0;
  operators::Work work;
  operators::Count bytes = 0;
  std::optional<double> time_s;
  std::optional<double> roof_time_s;
  std::string bound; ///< of most of the group's time; empty: unknown
  bool ambiguous = false;
  std::string roof_level;
};

/// Groups in order of their first launch.
std::vector<LaunchGroup> launch_groups(const profilers::Record& record);

/// Whether launch_groups has more of them, without making any.
bool has_more_groups_than(std::size_t count, const profilers::Record& record);

/// "block*/mixer/scores": the number of the first part of a scope replaced.
std::string without_block_number(const std::string& scope);

} // namespace attnprof::reports
