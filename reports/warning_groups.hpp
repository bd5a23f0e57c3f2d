// Equal warnings of many cases, taken together.
#pragma once
#include "profilers/record.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace attnprof::reports {

/// Cases whose warning has the same words; numbers in it may differ.
struct WarningGroup {
  std::string text;                 ///< as the first case has it
  bool numbers_differ = false;      ///< from case to case
  std::vector<std::size_t> records; ///< each case once, in order
};

/// The group with most cases first.
std::vector<WarningGroup> warning_groups(const std::vector<profilers::Record>& records);

/// "5 cases: the governor is powersave (mha, gqa, mqa, and 2 more)"; a single case stands in front: "mha: ...".
std::string group_text(const WarningGroup& group, const std::vector<std::string>& names);

} // namespace attnprof::reports
