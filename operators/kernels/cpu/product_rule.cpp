#include "operators/kernels/cpu/product_rule.hpp"

#include "operators/kernels/cpu/onednn_product.hpp"

#include <algorithm>

namespace attnprof::operators::cpu {
namespace {

/// Below this many multiply-adds a call into the library costs more than it saves: 5x192x192 took 1.28 of the own
/// kernels' time, 8x192x192 0.93, 64x64x64 1.00.
constexpr std::int64_t kSmallProduct = 200'000;
/// Narrower products are level (197x16x192: 1.02, 197x48x48: 0.98) and gain nothing from the library.
constexpr std::int64_t kNarrow = 32;
/// A single row is level (1x768x768: 0.95), and the own kernel shares its columns out among threads.
constexpr std::int64_t kFewestRows = 2;
/// Rows of one thread among several. The library's threads share rows out, so each reads all weights; the own kernels
/// share columns out where rows are few.
constexpr std::int64_t kRowsPerShare = 16;

// Time of oneDNN's 1x1 convolution over that of the own kernels, f32, one thread, AVX2 (Zen 3, oneDNN 2.6.3, medians of
// 21 interleaved pairs of CPU time). oneDNN's matmul and inner product run its packing gemm there, which allocates its
// workspace in each call and takes 0.81 to 1.91 of the own kernels' time (sgemm: 0.80 to 3.4): it is never chosen.
//   rows    2: 0.78-0.82 (768x768)   4: 0.66-0.71   5: 0.97-1.06   8: 0.75-0.78   16: 0.85   32: 0.80
//   ViT-T 197 rows  proj 0.94  fc1 0.84  fc2 0.85      batch 8  0.85  0.82  0.89
//   ViT-S 197 rows  proj 0.78  fc1 0.92  fc2 0.87      batch 8  0.94  0.91  0.90
//   ViT-B 197 rows  proj 0.86  fc1 0.87  fc2 0.89      batch 8  0.89  0.91  0.84
//   squares  512: 0.90  1024: 0.91  2048: 0.87
//   FFN up of ViT-T, S, B with bias and GELU as epilogue: 0.95 0.95 0.85
bool convolution_wins(const ProductShape& shape, int threads) {
  const std::int64_t fewest = threads == 1 ? kFewestRows : kRowsPerShare * threads;
  return shape.m >= fewest && shape.m * shape.n * shape.k >= kSmallProduct && shape.k >= kNarrow && shape.n >= kNarrow;
}

bool has_blocked_matmul(DType dtype) {
#if defined(ATTNPROF_HAS_X86_ISAS)
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return avx512 && (dtype == DType::kF32 || __builtin_cpu_supports("avx512bf16"));
#else
  static_cast<void>(dtype);
  return false;
#endif
}

/// On AVX-512 oneDNN's matmul has kernels that work in the scratch they are given. Measured on Zen 5 against
/// hand-written AVX-512 tiles with packed weights, as time ratios: 196x576x192 0.94, 784x768x192 0.98, 1024 squared
/// 0.94.
bool blocked_matmul_wins(const ProductShape& shape) {
  return shape.m > kFewRows && shape.m * shape.n * shape.k >= kSmallProduct && shape.k >= kNarrow && shape.n >= kNarrow;
}

/// Sizes and strides that the convolution takes, and a processor that it has kernels for.
bool convolution_takes(const ProductShape& shape) {
  return shape.dense_weights && !shape.masked && shape.dtype == DType::kF32 && shape.n % 8 == 0 && shape.k % 8 == 0 &&
         has_onednn_convolution(shape.n, shape.k);
}

} // namespace

ProductKind product_kind(const KernelTable& table, const ProductShape& shape, int threads, Products products) {
  // oneDNN cannot be held to a narrower instruction set than it finds.
  if (table.isa != runnable_isas().back() || products == Products::kOwn) {
    return ProductKind::kOwn;
  }
  if (products == Products::kOneDnn) {
    const bool convolution = !has_blocked_matmul(shape.dtype) && convolution_takes(shape);
    return convolution ? ProductKind::kOneDnnConvolution : ProductKind::kOneDnnMatmul;
  }
  if (has_blocked_matmul(shape.dtype)) {
    return blocked_matmul_wins(shape) ? ProductKind::kOneDnnMatmul : ProductKind::kOwn;
  }
  return convolution_wins(shape, threads) && convolution_takes(shape) ? ProductKind::kOneDnnConvolution
                                                                      : ProductKind::kOwn;
}

bool is_whole(const View& view, const Tensor& tensor) {
  const std::size_t rank = tensor.dims.size();
  if (view.offset != 0 || view.rank() < rank) {
    return false;
  }
  const Extents dense = dense_strides(tensor.dims);
  for (std::size_t i = 0; i < view.rank(); ++i) {
    const std::size_t leading = view.rank() - rank;
    if (i < leading ? view.strides[i] != 0 : view.dims[i] != tensor.dims[i - leading]) {
      return false;
    }
    if (i >= leading && view.dims[i] != 1 && view.strides[i] != dense[i - leading]) {
      return false;
    }
  }
  return true;
}

ProductShape shape_of_product(const Graph& graph, const MatMul& op) {
  const Tensor& factor = graph.tensor(op.b.tensor);
  ProductShape out;
  out.dtype = factor.dtype;
  out.n = op.c.dims.back();
  out.k = op.a.dims.back();
  out.m = op.c.elements().value() / std::max<std::int64_t>(out.n, 1);
  const bool one_dtype =
      graph.tensor(op.a.tensor).dtype == factor.dtype && graph.tensor(op.c.tensor).dtype == factor.dtype;
  out.dense_weights = factor.role == TensorRole::kWeight && factor.dims.size() == 2 && is_whole(op.b, factor) &&
                      op.a.contiguous() && op.c.contiguous() && one_dtype;
  out.masked = std::any_of(op.epilogue.begin(), op.epilogue.end(), [](const Step& step) { return is_mask(step.fn); });
  return out;
}

} // namespace attnprof::operators::cpu
