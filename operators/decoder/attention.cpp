#include "operators/decoder/blocks.hpp"
#include "operators/layers/network.hpp"

#include <cmath>

namespace attnprof::operators {

View decoder_attention(GraphBuilder& builder, const Decoder& model, const DecoderPass& pass, std::int64_t block,
                       const View& x) {
  if (model.latent) {
    return latent_attention(builder, model, pass, x);
  }
  MultiHead s;
  s.batch = pass.batch;
  s.tokens = pass.tokens;
  s.heads = model.heads;
  s.kv_heads = model.kv_heads;
  s.qk_dim = s.v_dim = model.head_dim;
  s.mask = {true, model.window_of(block)};
  s.past_len = s.first_position = pass.past_len;
  s.rope_dim = model.rope_dim;
  s.scale = model.score_scale;
  s.joint_qkv = model.joint_qkv;
  s.qkv_bias = model.qkv_bias;
  s.out_bias = model.out_bias;
  s.qk_norm = model.qk_norm;
  s.norm_eps = model.norm_eps;
  s.score_cap = model.score_cap;
  s.alibi = model.alibi;
  return build_multi_head(builder, s, x);
}

namespace {

struct Latent {
  std::int64_t batch, tokens, past_len, heads;
  LatentAttention a;
  [[nodiscard]] std::int64_t keys() const { return past_len + tokens; }
  [[nodiscard]] double scale() const { return 1.0 / std::sqrt(static_cast<double>(a.nope_dim + a.rope_dim)); }
};

/// Queries [batch, heads, tokens, nope_dim + rope_dim], not yet rotated.
View latent_queries(GraphBuilder& builder, const Latent& s, const View& x, double eps) {
  View q = x;
  if (s.a.q_rank > 0) {
    q = rms_norm(builder, "q_norm", dense(builder, "q_down_proj", x, s.a.q_rank, false), eps);
  }
  const std::int64_t width = s.a.nope_dim + s.a.rope_dim;
  q = dense(builder, "q_proj", q, s.heads * width, false);
  return builder.layout_copy("q_split", q.split(0, s.batch, s.tokens).split(2, s.heads, width).transpose(1, 2));
}

/// The whole cache [batch, 1, keys, kv_rank + rope_dim] after the new tokens' latents and rotated keys were appended.
View latent_cache(GraphBuilder& builder, const Latent& s, const View& x, double eps) {
  const std::int64_t width = s.a.kv_rank + s.a.rope_dim;
  const View down = dense(builder, "kv_down_proj", x, width, false);
  const View latent = rms_norm(builder, "kv_norm", down.slice(1, 0, s.a.kv_rank), eps);
  const View rope =
      builder.rope("k_rope", down.slice(1, s.a.kv_rank, s.a.rope_dim).split(0, s.batch, s.tokens).broadcast(1, 1),
                   builder.rope_table(s.tokens, s.a.rope_dim, s.past_len));
  const View cache = builder.cache("kv_cache", {s.batch, 1, s.keys(), width}, s.past_len);
  const View added = cache.slice(2, s.past_len, s.tokens);
  builder.copy_into("latent_append", latent.split(0, s.batch, s.tokens).broadcast(1, 1),
                    added.slice(3, 0, s.a.kv_rank));
  builder.copy_into("rope_append", rope, added.slice(3, s.a.kv_rank, s.a.rope_dim));
  return cache;
}

/// [a, b] along the last dimension; frameworks concatenate by two copies.
View joined(GraphBuilder& builder, const std::string& name, const View& a, const View& b) {
  Extents dims = a.dims;
  dims[dims.size() - 1] += b.dims.back();
  const View out = builder.temporary(dims);
  const std::size_t last = dims.size() - 1;
  builder.copy_into(name + "_nope_concat", a, out.slice(last, 0, a.dims.back()));
  builder.copy_into(name + "_rope_concat", b, out.slice(last, a.dims.back(), b.dims.back()));
  return out;
}

/// Keys and values of all heads from the latents: [batch, heads, keys, ...].
View expanded(GraphBuilder& builder, const Latent& s, const View& q_nope, const View& q_rope, const View& cache) {
  const std::int64_t width = s.a.nope_dim + s.a.v_dim;
  const View latents = builder.layout_copy("latent_slice", cache.slice(3, 0, s.a.kv_rank)).as_matrix();
  const View kv = dense(builder, "kv_up_proj", latents, s.heads * width, false);
  const View heads = kv.split(0, s.batch, s.keys()).split(2, s.heads, width).transpose(1, 2);
  const View k_rope = cache.slice(3, s.a.kv_rank, s.a.rope_dim).select(1, 0).broadcast(1, s.heads);
  const View k = joined(builder, "k", heads.slice(3, 0, s.a.nope_dim), k_rope);
  const View v = builder.layout_copy("v_split", heads.slice(3, s.a.nope_dim, s.a.v_dim));
  return build_attention_core(builder, joined(builder, "q", q_nope, q_rope), k, v, {s.scale(), 0.0, {}, {true, 0}});
}

/// Queries and results pass through the up-projection, so that one key per token serves all heads.
View absorbed(GraphBuilder& builder, const Latent& s, const View& q_nope, const View& q_rope, const View& cache) {
  const std::int64_t width = s.a.nope_dim + s.a.v_dim;
  const WeightPrefix prefix(builder, "kv_up_proj.");
  const View up = builder.weight("w", {s.a.kv_rank, s.heads * width}).split(1, s.heads, width).transpose(0, 1);
  const View to_latent = up.slice(2, 0, s.a.nope_dim).transpose(1, 2).broadcast(0, s.batch);
  const View to_value = up.slice(2, s.a.nope_dim, s.a.v_dim).broadcast(0, s.batch);
  const View q = joined(builder, "q", builder.matmul("q_absorb", q_nope, to_latent), q_rope);
  const View keys = cache.broadcast(2, s.heads);
  const View mixed = build_attention_core(builder, q.split(1, 1, s.heads), keys, keys.slice(4, 0, s.a.kv_rank),
                                          {s.scale(), 0.0, {}, {true, 0}});
  return builder.matmul("v_absorb", mixed.merge(1), to_value);
}

} // namespace

View latent_attention(GraphBuilder& builder, const Decoder& model, const DecoderPass& pass, const View& x) {
  const Latent s{pass.batch, pass.tokens, pass.past_len, model.heads, *model.latent};
  const View q = latent_queries(builder, s, x, model.norm_eps);
  const View q_nope = q.slice(3, 0, s.a.nope_dim);
  const View q_rope = builder.rope("q_rope", q.slice(3, s.a.nope_dim, s.a.rope_dim),
                                   builder.rope_table(s.tokens, s.a.rope_dim, s.past_len));
  const View cache = latent_cache(builder, s, x, model.norm_eps);
  const View mixed =
      pass.decode ? absorbed(builder, s, q_nope, q_rope, cache) : expanded(builder, s, q_nope, q_rope, cache);
  const View merged = builder.layout_copy("merge", mixed.transpose(1, 2)).merge(2).as_matrix();
  return dense(builder, "out_proj", merged, x.dims.back(), false);
}

} // namespace attnprof::operators
