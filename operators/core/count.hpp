#pragma once
#include "operators/core/error.hpp"
#include "operators/core/rounding.hpp"

#include <compare>
#include <cstdint>

namespace attnprof::operators {

/// A checked 64-bit count of operations, elements or bytes. Sums and products that do not fit throw
/// Error(kOverflow) instead of wrapping, so a printed count is never silently wrong.
class Count {
 public:
  constexpr Count() = default;
  // Implicit on purpose: formulas mix counts with plain sizes.
  constexpr Count(std::int64_t value) : value_(value) {} // NOLINT(google-explicit-constructor)

  [[nodiscard]] constexpr std::int64_t value() const { return value_; }

  friend Count operator+(Count a, Count b) {
    std::int64_t out = 0;
    if (__builtin_add_overflow(a.value_, b.value_, &out)) {
      throw_overflow(a.value_, '+', b.value_);
    }
    return out;
  }
  friend Count operator-(Count a, Count b) {
    std::int64_t out = 0;
    if (__builtin_sub_overflow(a.value_, b.value_, &out)) {
      throw_overflow(a.value_, '-', b.value_);
    }
    return out;
  }
  friend Count operator*(Count a, Count b) {
    std::int64_t out = 0;
    if (__builtin_mul_overflow(a.value_, b.value_, &out)) {
      throw_overflow(a.value_, '*', b.value_);
    }
    return out;
  }
  Count& operator+=(Count other) { return *this = *this + other; }
  Count& operator*=(Count other) { return *this = *this * other; }
  friend constexpr auto operator<=>(Count, Count) = default;

 private:
  [[noreturn]] static void throw_overflow(std::int64_t a, char op, std::int64_t b);
  std::int64_t value_ = 0;
};

} // namespace attnprof::operators
