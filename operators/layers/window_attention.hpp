#pragma once
#include "operators/layers/windows.hpp"

namespace attnprof::operators {

/// Multi-head attention inside windows.
struct WindowAttention {
  Windows windows;
  std::int64_t heads = 1, head_dim = 1;
  bool position_bias = true; ///< relative, learned
  bool biases = false;       ///< one product for queries, keys and values; biases on it and on the output, as in Swin
};

/// x [batch * height * width, dim] -> the same shape; weights wq, wk, wv (or wqkv) [dim, ...], wo, and the bias table.
/// Source: Liu et al. 2021, Swin Transformer, eq. 4 and figure 4.
View build_window_attention(GraphBuilder& builder, const WindowAttention& attention, const View& x);

} // namespace attnprof::operators
