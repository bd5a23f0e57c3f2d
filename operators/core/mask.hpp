#pragma once
#include "operators/core/count.hpp"

#include <algorithm>

namespace attnprof::operators {

/// Which keys a query attends to. Causal is bottom-right aligned: query i of n_q sees keys j <= i + n_k - n_q; a window
/// w > 0 keeps the last w of them. The default attends to every key.
struct Mask {
  bool causal = false;
  std::int64_t window = 0;

  [[nodiscard]] bool any() const { return causal || window > 0; }
  /// First attended key of query i.
  [[nodiscard]] std::int64_t first_key(std::int64_t i, std::int64_t n_q, std::int64_t n_k) const {
    return window > 0 ? std::clamp<std::int64_t>(i + n_k - n_q + 1 - window, 0, n_k) : 0;
  }
  /// One past the last attended key of query i.
  [[nodiscard]] std::int64_t end_key(std::int64_t i, std::int64_t n_q, std::int64_t n_k) const {
    return any() ? std::clamp<std::int64_t>(i + n_k - n_q + 1, 0, n_k) : n_k;
  }
  [[nodiscard]] bool attends(std::int64_t i, std::int64_t j, std::int64_t n_q, std::int64_t n_k) const {
    return j >= first_key(i, n_q, n_k) && j < end_key(i, n_q, n_k);
  }
  friend bool operator==(const Mask&, const Mask&) = default;
};

/// Attended (query, key) pairs of an n_q x n_k problem, in closed form: never "half" of the square.
Count attended_pairs(const Mask& mask, std::int64_t n_q, std::int64_t n_k);

/// Tiles of a fused attention core: rows of queries by columns of keys.
struct Tiles {
  std::int64_t queries = 1;
  std::int64_t keys = 1;
  friend bool operator==(const Tiles&, const Tiles&) = default;
};

/// Key range [begin, end) that a tile of query rows [row, row + rows) must visit, widened to whole key tiles (ragged at
/// n_k).
struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
inline KeyRange visited_keys(const Mask& mask, const Tiles& tiles, std::int64_t row, std::int64_t rows,
                             std::int64_t n_q, std::int64_t n_k) {
  const std::int64_t first = mask.first_key(row, n_q, n_k);
  const std::int64_t end = mask.end_key(row + rows - 1, n_q, n_k);
  if (end <= first) {
    return {};
  }
  return {first / tiles.keys * tiles.keys, std::min(round_up(end, tiles.keys), n_k)};
}

} // namespace attnprof::operators
