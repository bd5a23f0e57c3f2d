// One attention core as a graph, for the tests of every back end.
#pragma once
#include "operators/core/graph.hpp"

namespace attnprof::tests {

struct AttentionCase {
  std::int64_t batch, kv_heads, group, n_q, n_k, qk_dim, v_dim;
  operators::Mask mask;
  bool bias;
  double scale;
  operators::Attention::Weights weights = operators::Attention::Weights::kSoftmax;
  operators::Tiles tiles = {64, 64};
};

/// Inputs "q", "k", "v" and "bias", output "y". `strided`: heads beside each other in a row of a projection, as the
/// fused plan reads them; else dense.
operators::Graph attention_graph(operators::DType dtype, const AttentionCase& one, bool strided);

} // namespace attnprof::tests
