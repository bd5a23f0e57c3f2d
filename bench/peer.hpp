// What a library is asked to do beside our kernels: the same computation on the same buffers.
#pragma once

#include "bench/sampler.hpp"
#include "operators/core/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attnprof::bench {

enum class PeerOp {
  kProduct,   ///< y[m][n] = a[m][k] b[k][n]; b is a weight and may be packed beforehand
  kBatched,   ///< y[batch][m][n] = a[batch][m][k] b[batch][k][n], or [n][k] where transposed
  kAttention, ///< y, q = a, k = b, v = c: [m tokens][batch heads][k wide]; causal or not, scale 1/8
  kSoftmax,   ///< rows m, columns n
  kLayerNorm, ///< b = gamma, c = beta
  kRmsNorm,   ///< b = gamma
  kGelu,      ///< the erf form
  kSilu,
  kAdd,       ///< y = a + b
  kHeadSplit, ///< a[m][batch][n] to y[batch][m][n]
  kHeadMerge, ///< a[batch][m][n] to y[m][batch][n]
  kTranspose, ///< a[m][n] to y[n][m]
  kDepthwise, ///< a, y [batch][m][m][n channels], b[n][k][k], c = bias, stride 1, same size
};

struct PeerCase {
  PeerOp op = PeerOp::kProduct;
  operators::DType dtype = operators::DType::kF32;
  int threads = 1;
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transposed = false;
  bool causal = false;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* y = nullptr;
};

/// Scale of the scores in kAttention.
inline constexpr float kScoreScale = 0.125F;
/// Epsilon of the norms.
inline constexpr float kNormEpsilon = 1e-5F;

/// A library that was found when the benchmark was configured, or why it was not.
struct PeerLibrary {
  std::string name;
  std::string version;               ///< empty where absent
  std::optional<std::string> absent; ///< the reason
  /// Ways in which it does the case, prepared; empty where it cannot. Their names begin with the library's.
  std::function<std::vector<Contestant>(const PeerCase&)> make;
};

PeerLibrary onednn_library();
PeerLibrary openblas_library();
/// Eigen and plain loops with -O3 -ffast-math, each compiled for the instruction set that the kernels run with.
PeerLibrary eigen_library(const std::string& isa);
PeerLibrary compiler_library(const std::string& isa);

} // namespace attnprof::bench
