#pragma once
#include "operators/kernels/cpu/args.hpp"

#include <string>
#include <vector>

namespace attnprof::operators::cpu {

/// Up to this many rows a product is bound by reading its second factor once.
inline constexpr std::int64_t kFewRows = 4;

/// The kernels compiled for one instruction set. Each does share `share` of `shares`; the shares of one call run at
/// once.
struct KernelTable {
  const char* isa;
  bool emulated;    ///< runs on any processor of the next narrower set, slowly: for tests
  int lanes;        ///< floats in a vector
  int tile_rows;    ///< register tile of matrix products
  int tile_columns; ///< also the width of packed panels
  void (*softmax)(const RowsArgs&, int share, int shares);
  void (*layernorm)(const RowsArgs&, int share, int shares);
  void (*pointwise)(const RowsArgs&, int share, int shares);
  void (*rope)(const RowsArgs&, int share, int shares);
  void (*copy_rows)(const RowsArgs&, int share, int shares);
  void (*copy_transposed)(const RowsArgs&, int share, int shares);
  void (*matmul)(const MatMulArgs&, int share, int shares);
  void (*matvec)(const MatMulArgs&, int share, int shares);
  void (*attention)(const AttentionArgs&, int share, int shares);
  void (*attention_decode)(const AttentionArgs&, int phase, int share, int shares);
  void (*depthwise)(const DepthwiseArgs&, int share, int shares);
  void (*conv)(const ConvArgs&, int share, int shares);
  void (*pool)(const ConvArgs&, int share, int shares);
  void (*gather_rows)(const RowsArgs&, int share, int shares);
  void (*reduce_rows)(const RowsArgs&, int share, int shares);
  void (*cumsum_rows)(const RowsArgs&, int share, int shares);
  void (*channel_conv1d)(const RowsArgs&, int share, int shares);
  // Vector functions on arrays; the kernels above use the same code.
  void (*exp)(const float* x, float* y, std::int64_t n);
  void (*exp_nonpositive)(const float* x, float* y, std::int64_t n);
  void (*exp2_nonpositive)(const float* x, float* y, std::int64_t n);
  void (*erf)(const float* x, float* y, std::int64_t n);
  void (*sigmoid)(const float* x, float* y, std::int64_t n);
  void (*tanh)(const float* x, float* y, std::int64_t n);
  void (*silu)(const float* x, float* y, std::int64_t n);
  void (*gelu)(const float* x, float* y, std::int64_t n);
};

/// Names of the instruction sets this binary holds kernels for and this processor can run, narrowest first.
std::vector<std::string> runnable_isas();

/// Kernels of the named set; empty: the widest that this processor runs. Throws Error(kUsage) for a name that this
/// binary does not know and Error(kUnsupported) for one that this processor lacks.
const KernelTable& select_kernels(const std::string& isa);

} // namespace attnprof::operators::cpu
