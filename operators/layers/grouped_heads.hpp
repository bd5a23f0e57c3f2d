#pragma once
#include "operators/core/registry.hpp"

namespace attnprof::operators {

/// Each head reads its own slice of the channels: wq, wk [heads, dim/heads, qk_dim], wv [heads, dim/heads, v_dim],
/// wo [heads * v_dim, dim]; scale 1/sqrt(qk_dim). Source: Liu et al. 2023, EfficientViT, section 3.2.
struct GroupedHeads {
  std::int64_t batch = 0, tokens = 0, dim = 0, heads = 0, slice = 0, qk_dim = 0, v_dim = 0;
  View wq, wk, wv;
};

/// Fills qk_dim (16) and v_dim (dim/heads). Throws Error(kInvalid) where heads does not divide dim.
void resolve_grouped_heads(Config& config);
GroupedHeads grouped_heads(GraphBuilder& builder, const Config& config, const View& x);

/// Output projection of the concatenated heads: mixed [batch, tokens, heads, v_dim] -> [batch * tokens, dim].
View project_heads(GraphBuilder& builder, const GroupedHeads& heads, const View& mixed);

} // namespace attnprof::operators
