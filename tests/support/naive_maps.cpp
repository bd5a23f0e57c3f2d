#include "tests/support/naive_maps.hpp"

#include <algorithm>

namespace attnprof::testing {
namespace {

/// w(o, y, x, i) of a weight that Case gives as a matrix.
double tap(const Matrix& w, std::size_t kernel, std::size_t o, std::size_t y, std::size_t x, std::size_t i,
           bool depthwise) {
  if (depthwise) {
    return o == i ? w(o * kernel + y, x) : 0.0;
  }
  return kernel == 1 ? w(i, o) : w((o * kernel + y) * kernel + x, i);
}

std::size_t outputs_of(const Matrix& w, const Map& x, std::size_t kernel, bool depthwise) {
  return depthwise ? x.pixels.columns : kernel == 1 ? w.columns : w.rows / (kernel * kernel);
}

/// Sum over the taps inside the map around one output pixel.
double window_sum(const Map& x, const Matrix& w, std::size_t kernel, std::size_t top, std::size_t left, std::size_t o,
                  bool depthwise) {
  double total = 0.0;
  const std::size_t pad = kernel / 2;
  for (std::size_t dy = 0; dy < kernel; ++dy) {
    for (std::size_t dx = 0; dx < kernel; ++dx) {
      const bool inside = top + dy >= pad && left + dx >= pad && top + dy - pad < x.height && left + dx - pad < x.width;
      for (std::size_t i = 0; inside && i < x.pixels.columns; ++i) {
        total += x.pixels((top + dy - pad) * x.width + left + dx - pad, i) * tap(w, kernel, o, dy, dx, i, depthwise);
      }
    }
  }
  return total;
}

} // namespace

Map convolved(const Case& run, const std::string& name, const Map& x, std::size_t kernel, std::size_t stride,
              bool depthwise) {
  const Matrix w = run.given(name + ".w");
  const bool folded = run.config().flag("folded");
  const std::string norm = name + "." + name.substr(name.rfind('.') + 1) + "_bn.";
  const std::size_t channels = outputs_of(w, x, kernel, depthwise);
  const std::vector<double> scale = folded ? std::vector<double>(channels, 1.0) : run.vector(norm + "gamma");
  const std::vector<double> shift = run.vector(folded ? name + ".b" : norm + "beta");
  Map y{(x.height + stride - 1) / stride, (x.width + stride - 1) / stride, {}};
  y.pixels = Matrix(y.height * y.width, channels);
  for (std::size_t p = 0; p < y.pixels.rows; ++p) {
    for (std::size_t o = 0; o < channels; ++o) {
      const double total = window_sum(x, w, kernel, p / y.width * stride, p % y.width * stride, o, depthwise);
      y.pixels(p, o) = total * scale[o] + shift[o];
    }
  }
  return y;
}

Map map_of(const Matrix& batch, std::size_t index, std::size_t height, std::size_t width) {
  return {height, width, rows_of(batch, index * height * width, height * width)};
}

Matrix rectified(Matrix x) {
  std::transform(x.values.begin(), x.values.end(), x.values.begin(), [](double v) { return std::max(v, 0.0); });
  return x;
}

} // namespace attnprof::testing
