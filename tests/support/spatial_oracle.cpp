#include "tests/support/spatial_oracle.hpp"

#include "tests/support/heads_oracle.hpp"
#include "tests/support/layer_oracle.hpp"

namespace attnprof::testing {
namespace {

/// Strided dense convolution, kernel and stride `side`: weights [out, side, side, in] as rows [out * side * side, in].
Matrix reduced(const Matrix& x, std::size_t width, std::size_t side, const Matrix& w, const std::vector<double>& bias) {
  const std::size_t height = x.rows / width;
  Matrix out((height / side) * (width / side), x.columns);
  for (std::size_t i = 0; i < height; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const std::size_t row = i / side * (width / side) + j / side;
      for (std::size_t o = 0; o < x.columns; ++o) {
        for (std::size_t c = 0; c < x.columns; ++c) {
          out(row, o) += x(i * width + j, c) * w((o * side + i % side) * side + j % side, c);
        }
      }
    }
  }
  for (std::size_t row = 0; row < out.rows; ++row) {
    for (std::size_t o = 0; o < out.columns; ++o) {
      out(row, o) += bias[o];
    }
  }
  return out;
}

} // namespace

Matrix spatial_reduction(const Case& run, const std::string& prefix, const Matrix& x) {
  const auto side = static_cast<std::size_t>(run.integer("reduction"));
  const auto heads = static_cast<std::size_t>(run.integer("heads"));
  const std::size_t width = x.columns / heads;
  Matrix keys = x;
  if (side > 1) {
    keys = reduced(x, static_cast<std::size_t>(run.config().grid().width), side, run.given(prefix + "sr"),
                   run.vector(prefix + "sr_b"));
    keys = layer_norm(keys, run.vector(prefix + "sr_norm.gamma"), run.vector(prefix + "sr_norm.beta"), 1e-5);
  }
  const Matrix q = product(x, run.given(prefix + "wq"));
  const Matrix kv = product(keys, run.given(prefix + "wkv"));
  Matrix mixed(x.rows, x.columns);
  for (std::size_t h = 0; h < heads; ++h) {
    const Matrix k = columns_of(kv, h * width, width);
    const Matrix v = columns_of(kv, x.columns + h * width, width);
    put_columns(mixed, h * width,
                attend(head_of(q, h, width), k, v, 1.0 / std::sqrt(static_cast<double>(width)), no_mask()));
  }
  return product(mixed, run.given(prefix + "wo"));
}

} // namespace attnprof::testing
