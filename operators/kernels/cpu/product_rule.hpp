#pragma once
#include "operators/core/graph.hpp"
#include "operators/exec/executor.hpp"
#include "operators/kernels/cpu/kernel_table.hpp"

namespace attnprof::operators::cpu {

/// What multiplies.
enum class ProductKind {
  kOwn,
  kOneDnnMatmul,      ///< oneDNN's matmul primitive on operands as they lie
  kOneDnnConvolution, ///< oneDNN's 1x1 convolution: rows are pixels, the right factor is stored in its blocks of 8 x 8
};

/// What a product is chosen by; the right factor has k rows and n columns.
struct ProductShape {
  DType dtype = DType::kF32;
  std::int64_t m = 0, n = 0, k = 0; ///< m: rows of all batch entries that share the right factor
  bool dense_weights = false;       ///< the right factor is a whole weight; the other two are dense in memory
  bool masked = false;              ///< an epilogue step counts rows from the first of the whole product
};
ProductShape shape_of_product(const Graph& graph, const MatMul& op);

/// The one rule for who multiplies what; storage and planner both ask here. Its numbers are measured with
/// bench/product_bench.cpp, and stand beside it in the source.
ProductKind product_kind(const KernelTable& table, const ProductShape& shape, int threads, Products products);

/// Whether the view is the whole tensor, repeated over leading dimensions at most.
bool is_whole(const View& view, const Tensor& tensor);

} // namespace attnprof::operators::cpu
