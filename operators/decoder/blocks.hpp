#pragma once
#include "operators/decoder/architecture.hpp"

// The branches of a decoder block. Their scope and weight prefix are the caller's.
namespace attnprof::operators {

/// RMSNorm or LayerNorm, as the model has it.
View decoder_norm(GraphBuilder& builder, const Decoder& model, const std::string& name, const View& x);
/// Attention over the block's cache on x [batch * tokens, dim].
View decoder_attention(GraphBuilder& builder, const Decoder& model, const DecoderPass& pass, std::int64_t block,
                       const View& x);
/// Multi-head latent attention. In decode the queries are projected to the latents ("absorbed"), which all heads then
/// share; otherwise keys and values are expanded from the latents first. Cache: [batch, 1, tokens, kv_rank + rope_dim].
View latent_attention(GraphBuilder& builder, const Decoder& model, const DecoderPass& pass, const View& x);
/// Ordinary network of the given width.
View decoder_ffn(GraphBuilder& builder, const Decoder& model, std::int64_t width, const View& x);
/// Router, experts and shared experts (Shazeer et al. 2017, eq. 1 and 2, with the routing that build_decoder states).
View decoder_experts(GraphBuilder& builder, const Decoder& model, const View& x);

} // namespace attnprof::operators
