#pragma once
#include "operators/core/count.hpp"
#include "operators/core/extents.hpp"

#include <string>

namespace attnprof::operators {

using TensorId = std::int32_t;

/// A strided window on a tensor: what one operand of an op reads or writes. Strides and offset are in elements;
/// stride 0 repeats an element (broadcast). Head split, merge, transpose and slices are views; only a Copy op moves
/// data.
struct View {
  TensorId tensor = -1;
  std::int64_t offset = 0;
  Extents dims;
  Extents strides;

  [[nodiscard]] std::size_t rank() const { return dims.size(); }
  [[nodiscard]] Count elements() const;          ///< product of the sizes
  [[nodiscard]] Count distinct_elements() const; ///< elements without broadcast dimensions: what must be moved
  [[nodiscard]] bool contiguous() const;         ///< row-major and dense from its offset
  [[nodiscard]] std::string shape() const;       ///< "1x3x196x64"

  [[nodiscard]] View transpose(std::size_t a, std::size_t b) const;
  [[nodiscard]] View slice(std::size_t dim, std::int64_t begin, std::int64_t length) const;
  [[nodiscard]] View select(std::size_t dim, std::int64_t index) const;                    ///< drops the dimension
  [[nodiscard]] View split(std::size_t dim, std::int64_t outer, std::int64_t inner) const; ///< dim = outer * inner
  [[nodiscard]] View merge(std::size_t dim) const; ///< dim and dim + 1 into one; throws kInternal where strides forbid
  [[nodiscard]] bool mergeable(std::size_t dim) const;
  [[nodiscard]] View broadcast(std::size_t at, std::int64_t size) const; ///< inserts a dimension of stride 0
  [[nodiscard]] View as_matrix() const; ///< all dimensions but the last merged: [rows, columns]

  friend bool operator==(const View&, const View&) = default;
};

/// A vector repeated for every row of `like`.
View each_row(const View& vector, const View& like);
/// Row-major view of a whole tensor.
View dense_view(TensorId tensor, const Extents& dims);
Extents dense_strides(const Extents& dims);
/// The product of the sizes, multiplied from the last as strides are, so that both refuse the same sizes.
Count element_count(const Extents& dims);
std::string shape_of(const Extents& dims);

/// Calls visit(address) for every index of the view in row-major order.
template <class Visit>
void for_each_address(const View& view, Visit&& visit) {
  Extents index;
  for (std::size_t i = 0; i < view.rank(); ++i) {
    if (view.dims[i] == 0) {
      return;
    }
    index.push_back(0);
  }
  std::int64_t address = view.offset;
  while (true) {
    visit(address);
    std::size_t d = view.rank();
    while (d > 0) {
      --d;
      address += view.strides[d];
      if (++index[d] < view.dims[d]) {
        break;
      }
      address -= view.strides[d] * view.dims[d];
      index[d] = 0;
      if (d == 0) {
        return;
      }
    }
    if (view.rank() == 0) {
      return;
    }
  }
}

} // namespace attnprof::operators
