#pragma once
#include "operators/core/builder.hpp"

#include <optional>
#include <string>
#include <vector>

namespace attnprof::operators {

/// Multi-head latent attention: keys and values of all heads are projected from one cached latent per token.
/// Source: DeepSeek-AI 2024, DeepSeek-V2, section 2.1.
struct LatentAttention {
  std::int64_t q_rank = 0; ///< width of the queries' own latent; 0: queries come from the stream
  std::int64_t kv_rank = 0;
  std::int64_t nope_dim = 0, rope_dim = 0, v_dim = 0;
  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

/// Mixture of experts in place of the feed-forward network.
struct Experts {
  std::int64_t count = 0;
  std::int64_t per_token = 0;    ///< experts that one token goes through
  std::int64_t width = 0;        ///< of one expert
  std::int64_t shared_width = 0; ///< of the experts that every token goes through; 0: none
  std::int64_t first_block = 0;  ///< blocks before it have an ordinary network
  bool selection_bias = false;   ///< one more parameter per expert, added for the selection only (DeepSeek-V3)
  bool shared_gate = false;      ///< a sigmoid of one more product weighs the shared experts (Qwen2-MoE)
  friend bool operator==(const Experts&, const Experts&) = default;
};

/// A decoder-only language model, as far as work, bytes and parameters depend on it.
struct Decoder {
  std::int64_t dim = 0, depth = 0, vocab = 0;
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t ffn_width = 0;
  std::int64_t embedding_dim = 0; ///< of the token table; differs from dim where it is projected (OPT-350M)
  bool tied = false;              ///< the token table is the output layer too

  bool gated_ffn = true;
  StepFn activation = StepFn::kSilu;
  bool rms = true; ///< RMSNorm, else LayerNorm
  double norm_eps = 1e-5;
  bool qkv_bias = false, out_bias = false, ffn_bias = false, logits_bias = false;
  bool joint_qkv = false;

  /// Where the norms stand: in front of each branch; behind each residual sum (OPT-350M); in front and behind each
  /// branch (Gemma 2); one norm, or one for each, in front of attention and network side by side (GPT-J, Falcon).
  enum class NormPlace { kBefore, kAfterSum, kBeforeAndAfter, kParallelOne, kParallelTwo };
  NormPlace norm_place = NormPlace::kBefore;
  bool final_norm = true;
  bool embedding_norm = false;

  std::int64_t rope_dim = 0;        ///< rotated channels of a head; 0: none
  std::int64_t positions = 0;       ///< rows of a learned position table; 0: none
  std::int64_t position_offset = 0; ///< rows in front that no token uses (OPT)
  bool alibi = false;
  bool qk_norm = false;
  double score_scale = 0.0; ///< 0: 1/sqrt(head_dim)
  double score_cap = 0.0, logits_cap = 0.0;
  double embedding_scale = 1.0;

  std::int64_t window = 0;                 ///< keys kept by sliding-window blocks; 0: none
  std::int64_t full_every = 0;             ///< every so many-th block attends fully; 0: none does
  std::int64_t window_from = 0;            ///< blocks before it attend fully
  std::vector<std::int64_t> layer_windows; ///< where not empty: the window of each block, in place of the three above

  std::optional<LatentAttention> latent;
  std::optional<Experts> experts;

  /// Keys that block `block` keeps, 0: all.
  [[nodiscard]] std::int64_t window_of(std::int64_t block) const {
    if (!layer_windows.empty()) {
      return layer_windows[static_cast<std::size_t>(block)];
    }
    const bool full = window == 0 || block < window_from || (full_every > 0 && (block + 1) % full_every == 0);
    return full ? 0 : window;
  }
  [[nodiscard]] bool has_experts(std::int64_t block) const { return experts && block >= experts->first_block; }
  friend bool operator==(const Decoder&, const Decoder&) = default;
};

/// What one of `ranks` devices holds under tensor parallelism: heads, network widths and the vocabulary are divided, a
/// single key head and latents are copied. Throws Error(kInvalid) that names the size which does not divide.
/// Source: Shoeybi et al. 2019, Megatron-LM, section 3.
Decoder rank_of(const Decoder& whole, std::int64_t ranks);

/// One forward pass.
struct DecoderPass {
  std::int64_t batch = 1;
  std::int64_t tokens = 1; ///< new tokens of each sequence
  std::int64_t past_len = 0;
  bool decode = false;     ///< latent attention then works on the latents themselves
  bool all_logits = false; ///< logits of every new token, not only of the last
  std::int64_t ranks = 1;
  std::int64_t max_depth = 0; ///< 0: all blocks
};

/// Token table, blocks with a KV cache, final norm, logits [batch * (tokens | 1), vocab]. Token ids are fixed pseudo-
/// random ones, and expert k of token t is (t * per_token + k) mod count: routing is even, and no top-k is launched.
/// Throws Error(kInvalid) where the tokens exceed the learned positions.
void build_decoder(GraphBuilder& builder, const Decoder& whole, const DecoderPass& pass);

} // namespace attnprof::operators
