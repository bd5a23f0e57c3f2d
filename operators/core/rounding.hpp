#pragma once
#include <cstdint>

namespace attnprof::operators {

/// Smallest multiple of `step` that is at least `value`; both positive.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}
constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step;
}

} // namespace attnprof::operators
