#pragma once
#include "operators/core/registry.hpp"

namespace attnprof::operators {

/// Parameters of the mha, mqa and gqa variants beside kv_heads.
std::vector<std::string> multi_head_params();

/// Fills head_dim and checks heads, kv_heads, phase, lengths and mask. `kv_heads` is the number of key and value heads.
/// Throws Error(kInvalid).
void resolve_multi_head(Config& config, std::int64_t kv_heads);

/// Multi-head attention with kv_heads shared key and value heads on x [batch * seq_len, dim]; weights wq [dim, heads *
/// qk_dim], wk, wv [dim, kv_heads * ...], wo [heads * v_dim, dim]; scale 1/sqrt(qk_dim); query head h reads key head
/// h / (heads / kv_heads). With a phase, keys and values are appended to k_cache and v_cache [batch, kv_heads, past_len
/// + seq_len, ...] and attention runs over the whole cache; with kv_len they come from a second input "context".
/// Source: Vaswani et al. 2017, eq. 1; Shazeer 2019; Ainslie et al. 2023.
View build_multi_head(GraphBuilder& builder, const Config& config, const View& x, std::int64_t kv_heads);

/// scores, scale, mask, softmax, mix: q [..., n_q, qk_dim], k [..., n_k, qk_dim], v [..., n_k, v_dim] with equal
/// leading dimensions. The fused plan turns the five launches into one.
View build_attention_core(GraphBuilder& builder, const View& q, const View& k, const View& v, double scale,
                          const Mask& mask);

/// Width of a query or key head, and of a value head.
std::int64_t qk_dim_of(const Config& config);
std::int64_t v_dim_of(const Config& config);

/// Throws Error(kInvalid) that names both numbers and head counts near that divide, unless heads divides dim.
void require_heads_divide(const Config& config);

} // namespace attnprof::operators
