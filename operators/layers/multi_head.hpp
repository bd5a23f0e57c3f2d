#pragma once
#include "operators/core/registry.hpp"

namespace attnprof::operators {

/// Parameters of the mha, mqa and gqa variants beside kv_heads.
std::vector<std::string> multi_head_params();

/// Fills head_dim and checks heads, kv_heads, phase, lengths and mask. `kv_heads` is the number of key and value heads.
/// Throws Error(kInvalid).
void resolve_multi_head(Config& config, std::int64_t kv_heads);

/// One multi-head attention. Query head h reads key head h / (heads / kv_heads).
struct MultiHead {
  std::int64_t batch = 1, tokens = 1;
  std::int64_t heads = 1, kv_heads = 1;
  std::int64_t qk_dim = 1, v_dim = 1;
  std::optional<std::int64_t> past_len; ///< keys and values are appended to a cache that holds so many tokens
  std::optional<std::int64_t> kv_len;   ///< cross attention on the input "context" [batch, kv_len, dim]
  Mask mask;
  std::int64_t first_position = 0; ///< of the new tokens, for the rotation
  std::int64_t rope_dim = 0;       ///< leading channels of each head that are rotated; 0: none
  double scale = 0.0;              ///< of the scores; 0: 1/sqrt(qk_dim)
  bool joint_qkv = false;          ///< one product for queries, keys and values, as ViT's and GPT-2's code has it
  bool qkv_bias = false, out_bias = false;
  bool qk_norm = false;   ///< RMSNorm over each query and key head (Qwen3, Gemma 3)
  double norm_eps = 1e-6; ///< of qk_norm
  double score_cap = 0.0; ///< cap * tanh(score / cap) (Gemma 2); 0: none
  bool alibi = false;     ///< a linear position bias per head (Press et al. 2022)
};

/// Multi-head attention with shared key and value heads on x [batch * tokens, dim]; weights wq [dim, heads * qk_dim],
/// wk, wv [dim, kv_heads * ...], or wqkv, and wo [heads * v_dim, dim_out]; scale 1/sqrt(qk_dim). With past_len, keys
/// and values are appended to k_cache and v_cache [batch, kv_heads, past_len + tokens, ...] and attention runs over the
/// whole cache. Under a sliding window the cache keeps the keys that it can see and is a ring: attention then runs over
/// a copy of the past beside the new keys. Source: Vaswani et al. 2017, eq. 1; Shazeer 2019; Ainslie et al. 2023.
View build_multi_head(GraphBuilder& builder, const MultiHead& sizes, const View& x);

/// The same for a configuration that resolve_multi_head completed.
View build_multi_head(GraphBuilder& builder, const Config& config, const View& x, std::int64_t kv_heads);

/// The same under attention weights of an earlier block, the result of its softmax: wv and wo alone.
/// Source: Venkataramanan et al. 2023, Skip-Attention, section 4.5 (reuse of A).
View build_on_attention_weights(GraphBuilder& builder, const Config& config, const View& x, std::int64_t kv_heads,
                                const View& weights);

/// What follows the scores: a cap, a bias and a mask, in this order.
struct ScoreSteps {
  double scale = 1.0;
  double cap = 0.0;
  std::optional<View> bias; ///< [..., n_q, n_k]
  Mask mask;
  std::optional<std::int64_t> useful_pairs = std::nullopt; ///< real pairs of the whole batch, where there is padding
};

/// scores, scale, cap, bias, mask, softmax, mix: q [..., n_q, qk_dim], k [..., n_k, qk_dim], v [..., n_k, v_dim] with
/// equal leading dimensions. The fused plan turns the five launches into one.
View build_attention_core(GraphBuilder& builder, const View& q, const View& k, const View& v, const ScoreSteps& steps);

/// Width of a query or key head, and of a value head.
std::int64_t qk_dim_of(const Config& config);
std::int64_t v_dim_of(const Config& config);

/// Fills head_dim with dim / heads where it is absent. Throws Error(kInvalid) where heads does not divide dim.
void resolve_head_dim(Config& config);

/// Throws Error(kInvalid) that names both numbers and head counts near that divide, unless heads divides dim.
void require_heads_divide(const Config& config);

} // namespace attnprof::operators
