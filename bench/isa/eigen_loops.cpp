// Eigen, compiled for one instruction set in a namespace of its own: its inline functions would otherwise be shared by
// the linker, and the copy that is kept could be the one for a wider set than the processor has.
#define ATTNPROF_EIGEN_OF_1(isa) Eigen_##isa
#define ATTNPROF_EIGEN_OF(isa) ATTNPROF_EIGEN_OF_1(isa)
#define Eigen ATTNPROF_EIGEN_OF(ATTNPROF_ISA)
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG
#include <eigen3/Eigen/Core>
#include <eigen3/unsupported/Eigen/SpecialFunctions>

#include "bench/isa/loops.hpp"

namespace attnprof::bench::ATTNPROF_ISA {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Rows = Eigen::Map<RowMajor, 0, Eigen::OuterStride<>>;
using ConstRows = Eigen::Map<const RowMajor, 0, Eigen::OuterStride<>>;
using Flat = Eigen::Map<Eigen::ArrayXf>;
using ConstFlat = Eigen::Map<const Eigen::ArrayXf>;

void product(const float* a, Index a_row, const float* b, Index b_row, bool transposed, float scale, float* y,
             Index y_row, Index m, Index n, Index k) {
  const ConstRows left(a, m, k, Eigen::OuterStride<>(a_row));
  Rows out(y, m, n, Eigen::OuterStride<>(y_row));
  // The scale stands in front: (a b) * scale would make a temporary of the result.
  if (transposed) {
    out.noalias() = scale * left * ConstRows(b, n, k, Eigen::OuterStride<>(b_row)).transpose();
  } else {
    out.noalias() = scale * left * ConstRows(b, k, n, Eigen::OuterStride<>(b_row));
  }
}

void softmax(const float* x, float* y, Index rows, Index columns) {
  for (Index r = 0; r < rows; ++r, x += columns, y += columns) {
    const ConstFlat in(x, columns);
    Flat out(y, columns);
    out = (in - in.maxCoeff()).exp();
    out *= 1.0F / out.sum();
  }
}

void layernorm(const float* x, const float* gamma, const float* beta, float* y, Index rows, Index columns) {
  for (Index r = 0; r < rows; ++r, x += columns, y += columns) {
    const ConstFlat in(x, columns);
    const float mean = in.mean();
    const float scale = 1.0F / sqrtf((in - mean).square().mean() + 1e-5F);
    Flat(y, columns) = (in - mean) * scale * ConstFlat(gamma, columns) + ConstFlat(beta, columns);
  }
}
void rmsnorm(const float* x, const float* gamma, float* y, Index rows, Index columns) {
  for (Index r = 0; r < rows; ++r, x += columns, y += columns) {
    const ConstFlat in(x, columns);
    const float scale = 1.0F / sqrtf(in.square().mean() + 1e-5F);
    Flat(y, columns) = in * scale * ConstFlat(gamma, columns);
  }
}

void gelu(const float* x, float* y, Index n) {
  const ConstFlat in(x, n);
  Flat(y, n) = 0.5F * in * (1.0F + (in * 0.70710678F).erf());
}
void silu(const float* x, float* y, Index n) {
  const ConstFlat in(x, n);
  Flat(y, n) = in / (1.0F + (-in).exp());
}
void add(const float* x, const float* z, float* y, Index n) {
  Flat(y, n) = ConstFlat(x, n) + ConstFlat(z, n);
}

void head_split(const float* x, float* y, Index rows, Index heads, Index width) {
  for (Index h = 0; h < heads; ++h) {
    Rows(y + h * rows * width, rows, width, Eigen::OuterStride<>(width)) =
        ConstRows(x + h * width, rows, width, Eigen::OuterStride<>(heads * width));
  }
}
void head_merge(const float* x, float* y, Index rows, Index heads, Index width) {
  for (Index h = 0; h < heads; ++h) {
    Rows(y + h * width, rows, width, Eigen::OuterStride<>(heads * width)) =
        ConstRows(x + h * rows * width, rows, width, Eigen::OuterStride<>(width));
  }
}
void transpose(const float* x, float* y, Index rows, Index columns) {
  Rows(y, columns, rows, Eigen::OuterStride<>(rows)) =
      ConstRows(x, rows, columns, Eigen::OuterStride<>(columns)).transpose();
}

void depthwise(const float* x, const float* taps, const float* bias, float* y, Index images, Index side, Index channels,
               Index kernel) {
  const Index pad = kernel / 2;
  for (Index flat = 0; flat < images * side * side; ++flat) {
    const Index image = flat / (side * side);
    const Index row = flat / side % side;
    const Index column = flat % side;
    Flat out(y + flat * channels, channels);
    out = ConstFlat(bias, channels);
    for (Index i = 0; i < kernel * kernel; ++i) {
      const Index from_row = row + i / kernel - pad;
      const Index from_column = column + i % kernel - pad;
      if (from_row >= 0 && from_row < side && from_column >= 0 && from_column < side) {
        out += ConstFlat(x + ((image * side + from_row) * side + from_column) * channels, channels) *
               ConstFlat(taps + i * channels, channels);
      }
    }
  }
}

#define ATTNPROF_NAME_OF(isa) #isa
#define ATTNPROF_NAME(isa) ATTNPROF_NAME_OF(isa)
constexpr RowLoops kLoops{ATTNPROF_NAME(ATTNPROF_ISA),
                          softmax,
                          layernorm,
                          rmsnorm,
                          gelu,
                          silu,
                          add,
                          head_split,
                          head_merge,
                          transpose,
                          depthwise};
constexpr EigenProducts kProducts{product};

} // namespace

const RowLoops& eigen_loops();
const EigenProducts& eigen_products();
const RowLoops& eigen_loops() {
  return kLoops;
}
const EigenProducts& eigen_products() {
  return kProducts;
}

} // namespace attnprof::bench::ATTNPROF_ISA
