#pragma once
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace attnprof::operators {

/// Up to eight sizes or strides, stored in place: building a graph must not allocate for every operand.
class Extents {
 public:
  static constexpr std::size_t kMaxRank = 8;

  Extents() = default;
  Extents(std::initializer_list<std::int64_t> values) {
    for (const std::int64_t value : values) {
      push_back(value);
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const std::int64_t* begin() const { return values_.data(); }
  [[nodiscard]] const std::int64_t* end() const { return values_.data() + size_; }
  std::int64_t& operator[](std::size_t i) { return values_[i]; }
  std::int64_t operator[](std::size_t i) const { return values_[i]; }
  /// Counted from the end: back(0) is the last.
  [[nodiscard]] std::int64_t back(std::size_t i = 0) const { return values_[size_ - 1 - i]; }

  void push_back(std::int64_t value) {
    assert(size_ < kMaxRank);
    values_[size_++] = value;
  }
  void insert(std::size_t at, std::int64_t value) {
    push_back(value);
    for (std::size_t i = size_ - 1; i > at; --i) {
      values_[i] = values_[i - 1];
    }
    values_[at] = value;
  }
  void erase(std::size_t at) {
    for (std::size_t i = at; i + 1 < size_; ++i) {
      values_[i] = values_[i + 1];
    }
    values_[--size_] = 0;
  }
  // Unused slots stay zero, so the default comparison compares what is there.
  friend bool operator==(const Extents&, const Extents&) = default;

 private:
  std::array<std::int64_t, kMaxRank> values_{};
  std::size_t size_ = 0;
};

} // namespace attnprof::operators
