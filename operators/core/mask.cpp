#include "operators/core/mask.hpp"

namespace attnprof::operators {
namespace {

/// Sum over i = 0 .. n - 1 of clamp(i + shift, 0, limit).
Count clamped_ramp(std::int64_t n, std::int64_t shift, std::int64_t limit) {
  // i + shift is positive from `rise` on and reaches the limit at `flat`.
  const std::int64_t rise = std::clamp<std::int64_t>(1 - shift, 0, n);
  const std::int64_t flat = std::clamp<std::int64_t>(limit - shift, rise, n);
  const Count first = Count(rise) + shift;
  const Count steps = flat - rise;
  // The product of two consecutive-parity terms is even; halve the even factor first so that it fits.
  const Count doubled = first * 2 + steps - 1;
  const Count ramp = steps.value() % 2 == 0 ? Count(steps.value() / 2) * doubled : steps * Count(doubled.value() / 2);
  return ramp + Count(n - flat) * limit;
}

} // namespace

Count attended_pairs(const Mask& mask, std::int64_t n_q, std::int64_t n_k) {
  if (!mask.any()) {
    return Count(n_q) * n_k;
  }
  const std::int64_t shift = n_k - n_q + 1;
  Count pairs = clamped_ramp(n_q, shift, n_k);
  if (mask.window > 0) {
    pairs = pairs - clamped_ramp(n_q, shift - mask.window, n_k);
  }
  return pairs;
}

} // namespace attnprof::operators
