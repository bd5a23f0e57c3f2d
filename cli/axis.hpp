// The value grammar of workload flags: single values, lists and ranges become axes. Pure.
#pragma once

#include "operators/core/param.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attnprof::cli {

/// More values than this in one list are a mistyped range, not a sweep.
inline constexpr std::size_t kMaxAxisValues = 10'000;

/// The values that one parameter takes, in the order given, each once.
struct Axis {
  std::string name; ///< of the parameter, with underscores
  std::vector<operators::Value> values;
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// ';' for --skip, whose single values hold commas themselves (3,5,7,9 is one value); ',' for everything else.
char list_separator(const operators::ParamSpec& spec);

/// Reads `item[,item...]`. An item is a value or, for whole numbers, a range `begin:end:step` or `begin:end:*factor`
/// that ends at or before `end`. Numbers take the suffix k = 1024. Throws Error(kUsage) with the flag, the item and the
/// way out for empty items, empty ranges, a missing or useless step, values outside the parameter's range and too many
/// values.
Axis parse_axis(const operators::ParamSpec& spec, std::string_view text);

} // namespace attnprof::cli
