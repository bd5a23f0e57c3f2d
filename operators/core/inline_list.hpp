#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace attnprof::operators {

/// A list of small values, of which the first N are stored in place: lists that are nearly always short, one for each
/// tensor or op, must not allocate.
template <class T, std::size_t N>
class InlineList {
 public:
  void push_back(const T& value) {
    if (size_ < N) {
      first_[size_] = value;
    } else {
      if (size_ == N) {
        all_.assign(first_.begin(), first_.end());
      }
      all_.push_back(value);
    }
    ++size_;
  }
  void clear() {
    size_ = 0;
    all_.clear();
  }
  /// Removes every entry that equals the value; the order of the others stays.
  void erase(const T& value) {
    T* first = size_ <= N ? first_.data() : all_.data();
    std::size_t left = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      if (!(first[i] == value)) {
        first[left++] = first[i];
      }
    }
    if (size_ > N) {
      all_.resize(left);
      if (left <= N) {
        std::copy(all_.begin(), all_.end(), first_.begin());
        all_.clear();
      }
    }
    size_ = left;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const T* begin() const { return size_ <= N ? first_.data() : all_.data(); }
  [[nodiscard]] const T* end() const { return begin() + size_; }
  [[nodiscard]] const T& front() const { return *begin(); }
  const T& operator[](std::size_t i) const { return begin()[i]; }

 private:
  std::array<T, N> first_{};
  std::vector<T> all_; ///< everything, once there are more than N
  std::size_t size_ = 0;
};

} // namespace attnprof::operators
