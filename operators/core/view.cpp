#include "operators/core/view.hpp"

#include <fmt/format.h>
#include <utility>

namespace attnprof::operators {

Count View::elements() const {
  Count out = 1;
  for (const std::int64_t dim : dims) {
    out *= dim;
  }
  return out;
}

Count View::distinct_elements() const {
  Count out = 1;
  for (std::size_t i = 0; i < rank(); ++i) {
    out *= strides[i] == 0 && dims[i] > 0 ? 1 : dims[i];
  }
  return out;
}

bool View::contiguous() const {
  std::int64_t expected = 1;
  for (std::size_t i = rank(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != expected) {
      return false;
    }
    expected *= dims[i];
  }
  return true;
}

std::string View::shape() const {
  return shape_of(dims);
}

View View::transpose(std::size_t a, std::size_t b) const {
  View out = *this;
  std::swap(out.dims[a], out.dims[b]);
  std::swap(out.strides[a], out.strides[b]);
  return out;
}

View View::slice(std::size_t dim, std::int64_t begin, std::int64_t length) const {
  if (begin < 0 || length < 0 || begin + length > dims[dim]) {
    throw Error(ErrorKind::kInternal,
                fmt::format("slice {}+{} leaves dimension {} of shape {}", begin, length, dim, shape()));
  }
  View out = *this;
  out.offset += begin * strides[dim];
  out.dims[dim] = length;
  return out;
}

View View::select(std::size_t dim, std::int64_t index) const {
  View out = slice(dim, index, 1);
  out.dims.erase(dim);
  out.strides.erase(dim);
  return out;
}

View View::split(std::size_t dim, std::int64_t outer, std::int64_t inner) const {
  if (outer * inner != dims[dim]) {
    throw Error(ErrorKind::kInternal,
                fmt::format("cannot split dimension {} of shape {} into {} x {}", dim, shape(), outer, inner));
  }
  View out = *this;
  out.dims[dim] = outer;
  out.strides[dim] = strides[dim] * inner;
  out.dims.insert(dim + 1, inner);
  out.strides.insert(dim + 1, strides[dim]);
  return out;
}

bool View::mergeable(std::size_t dim) const {
  return dims[dim] == 1 || dims[dim + 1] == 1 || strides[dim] == strides[dim + 1] * dims[dim + 1];
}

View View::merge(std::size_t dim) const {
  if (!mergeable(dim)) {
    throw Error(ErrorKind::kInternal,
                fmt::format("dimensions {} and {} of shape {} cannot be merged", dim, dim + 1, shape()));
  }
  View out = *this;
  out.dims[dim] = dims[dim] * dims[dim + 1];
  out.strides[dim] = dims[dim + 1] == 1 ? strides[dim] : strides[dim + 1];
  out.dims.erase(dim + 1);
  out.strides.erase(dim + 1);
  return out;
}

View View::broadcast(std::size_t at, std::int64_t size) const {
  View out = *this;
  out.dims.insert(at, size);
  out.strides.insert(at, 0);
  return out;
}

View View::as_matrix() const {
  View out = *this;
  while (out.rank() > 2) {
    out = out.merge(0);
  }
  return out;
}

Extents dense_strides(const Extents& dims) {
  Extents strides = dims;
  Count step = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = step.value();
    step *= dims[i];
  }
  return strides;
}

Count element_count(const Extents& dims) {
  Count out = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    out *= dims[i];
  }
  return out;
}

View each_row(const View& vector, const View& like) {
  View out = vector;
  for (std::size_t i = like.rank() - 1; i-- > 0;) {
    out = out.broadcast(0, like.dims[i]);
  }
  return out;
}

View dense_view(TensorId tensor, const Extents& dims) {
  return {tensor, 0, dims, dense_strides(dims)};
}

std::string shape_of(const Extents& dims) {
  return fmt::format("{}", fmt::join(dims.begin(), dims.end(), "x"));
}

} // namespace attnprof::operators
