#pragma once
#include "operators/kernels/gpu/device.hpp"

#include <cublasLt.h>
#include <memory>

struct CUstream_st;

namespace attnprof::operators::gpu {

/// How a product's steps are shared between the library and a pass of our own behind it.
struct ProductEpilogue {
  float alpha = 1.0F;
  int residual = -1;  ///< step that adds a whole matrix; -1: none
  int bias = -1;      ///< step that adds a row
  int activation = 0; ///< 0 none, 1 relu, 2 gelu in its tanh form
  int taken = 0;      ///< steps that the library does; the others follow in a pass
};
ProductEpilogue split_steps(const ProductArgs& args);

/// The steps that split_steps leaves, as a pass over the result in place.
ElementwiseArgs remaining_pass(const ProductArgs& args, int taken);

/// A factor as cuBLASLt describes it: column-major. Absent where neither dimension is dense.
struct FactorLayout {
  bool transposed = false;
  std::int64_t leading = 0;
};
std::optional<FactorLayout> factor_layout(std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                                          std::int64_t column_stride);

/// The product through cuBLASLt; null where the library does not take it, for the own kernel to do.
std::unique_ptr<Kernel> make_lt_product(cublasLtHandle_t library, const ProductArgs& args, CUstream_st* stream);

} // namespace attnprof::operators::gpu
