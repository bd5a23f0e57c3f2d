// Convolutions over feature maps written with plain loops: the oracle of EfficientViT's pieces.
#pragma once
#include "tests/support/naive.hpp"

namespace attnprof::testing {

/// One image: pixels [height * width, channels].
struct Map {
  std::size_t height = 0, width = 0;
  Matrix pixels;
};

/// The convolution `name` of a case with its BatchNorm (or, folded, its bias) behind it; padding of kernel / 2.
/// Weights "name.w" [out, kernel, kernel, in], for a kernel of 1 [in, out], for a depthwise one [channels, kernel,
/// kernel].
Map convolved(const Case& run, const std::string& name, const Map& x, std::size_t kernel, std::size_t stride,
              bool depthwise);
/// Rows of one image out of those of a batch.
Map map_of(const Matrix& batch, std::size_t index, std::size_t height, std::size_t width);
Matrix rectified(Matrix x);

} // namespace attnprof::testing
