#pragma once
#include "operators/core/registry.hpp"

namespace attnprof::operators {

/// A token grid cut into square windows: zero padding at the bottom and right up to whole windows, and a cyclic shift.
/// Source: Liu et al. 2021, Swin Transformer, section 3.2 and figure 4.
struct Windows {
  std::int64_t batch = 0, height = 0, width = 0, side = 0, shift = 0;
  [[nodiscard]] std::int64_t rows() const { return ceil_div(height, side); }
  [[nodiscard]] std::int64_t columns() const { return ceil_div(width, side); }
  [[nodiscard]] std::int64_t count() const { return rows() * columns(); }
  [[nodiscard]] std::int64_t tokens() const { return side * side; }
  [[nodiscard]] std::int64_t padded_height() const { return rows() * side; }
  [[nodiscard]] std::int64_t padded_width() const { return columns() * side; }
  [[nodiscard]] bool moves() const { return shift > 0 || padded_height() != height || padded_width() != width; }
};

/// Fills window (7, never more than the grid) and shift (0; 0 where one window covers the grid). Throws
/// Error(kInvalid).
void resolve_windows(Config& config);
Windows windows_of(const Config& config);

/// [batch * height * width, c] -> [batch * count, side², c]: roll and pad as a gather, then the layout copy of a
/// partition.
View partition(GraphBuilder& builder, const Windows& windows, const View& x);
/// The inverse, padding dropped.
View unpartition(GraphBuilder& builder, const Windows& windows, const View& x);
/// Pairs of real tokens inside the windows of all images, for one head; a shifted window's wrapped neighbours do not
/// see each other.
std::int64_t real_window_pairs(const Windows& windows);
/// Taps of a convolution inside the windows, from real tokens on real tokens of all images, for one channel and windows
/// that do not move.
std::int64_t real_window_taps(const Windows& windows, std::int64_t kernel);
/// While it lives, only the real tokens of the padded windows are useful rows of a product.
GraphBuilder::RealRows real_window_rows(GraphBuilder& builder, const Windows& windows);
/// 0 where two tokens of a window may see each other, -inf where the shift wrapped one of them: [count, side², side²].
View shift_mask(GraphBuilder& builder, const Windows& windows);
/// Relative position bias from a table [(2 side - 1)², heads] as [heads, side², side²].
View relative_bias(GraphBuilder& builder, const Windows& windows, std::int64_t heads);

} // namespace attnprof::operators
