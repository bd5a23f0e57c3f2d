#pragma once
#include "operators/layers/windows.hpp"

#include <vector>

namespace attnprof::operators {

/// Cascaded group attention as EfficientViT deploys it: inside windows, with a bias by the offset of two tokens, a
/// depthwise convolution on each head's queries, a ReLU before the output projection, BatchNorm behind each product.
struct CascadedWindows {
  Windows windows; ///< they do not move: shift 0
  std::int64_t heads = 1, qk_dim = 16;
  std::vector<std::int64_t> query_kernels; ///< side of the convolution on head j's queries; at least `heads` of them
  bool folded = false;                     ///< BatchNorm, into the products and convolutions in front of it
};

/// x [batch * height * width, dim] -> the same shape; head j projects its slice of dim / heads channels plus the output
/// of head j - 1. Weights "head0.qkv_proj.w" [slice, 2 qk_dim + slice], "head0.q_dwconv.w" [qk_dim, kernel, kernel],
/// "bias_table" [side², heads], "out_proj.w" [dim, dim].
/// Source: Liu et al. 2023, EfficientViT, eq. 3 and 4 and figure 6; windows, bias and norms: the released code.
View build_cascaded_windows(GraphBuilder& builder, const CascadedWindows& cascade, const View& x);

} // namespace attnprof::operators
