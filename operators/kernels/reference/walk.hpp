#pragma once
#include "operators/core/view.hpp"

#include <array>

namespace attnprof::operators::reference {

/// Calls visit(addresses) for each index of the leading `rank - inner` dimensions, where addresses[i] is where view i
/// begins at that index. All views have equal leading dimensions.
template <std::size_t N, class Visit>
void for_each_batch(const std::array<const View*, N>& views, std::size_t inner, Visit&& visit) {
  std::array<View, N> heads;
  for (std::size_t i = 0; i < N; ++i) {
    heads[i] = *views[i];
    for (std::size_t drop = 0; drop < inner; ++drop) {
      heads[i].dims.erase(heads[i].rank() - 1);
      heads[i].strides.erase(heads[i].strides.size() - 1);
    }
  }
  Extents index;
  for (const std::int64_t dim : heads[0].dims) {
    if (dim == 0) {
      return;
    }
    index.push_back(0);
  }
  const auto address = [&](const View& view) {
    std::int64_t out = view.offset;
    for (std::size_t d = 0; d < index.size(); ++d) {
      out += index[d] * view.strides[d];
    }
    return out;
  };
  while (true) {
    std::array<std::int64_t, N> addresses;
    for (std::size_t i = 0; i < N; ++i) {
      addresses[i] = address(heads[i]);
    }
    visit(addresses);
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == heads[0].dims[d - 1]) {
      index[--d] = 0;
    }
    if (d == 0) {
      return;
    }
  }
}

} // namespace attnprof::operators::reference
