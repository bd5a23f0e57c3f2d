#include "operators/layers/multi_head.hpp"

#include "operators/layers/heads.hpp"

#include <cmath>
#include <fmt/format.h>

namespace attnprof::operators {

std::vector<std::string> multi_head_params() {
  return {"phase", "past_len", "kv_len", "heads", "head_dim", "qk_dim", "v_dim", "window", "causal", "rope"};
}

std::int64_t qk_dim_of(const Config& config) {
  return config.integer_or("qk_dim", config.integer_or("head_dim", 0));
}
std::int64_t v_dim_of(const Config& config) {
  return config.integer_or("v_dim", config.integer_or("head_dim", 0));
}

void require_heads_divide(const Config& config) {
  const std::int64_t dim = config.integer("dim");
  const std::int64_t heads = config.integer("heads");
  if (dim % heads == 0) {
    return;
  }
  std::int64_t below = std::min(heads, dim);
  while (dim % below != 0) {
    --below;
  }
  std::int64_t above = heads + 1;
  while (above < dim && dim % above != 0) {
    ++above;
  }
  throw Error(ErrorKind::kInvalid,
              fmt::format("--heads {} does not divide --dim {}; head counts near it that do: {}{}", heads, dim, below,
                          heads < dim ? fmt::format(", {}", above) : std::string()));
}

void resolve_head_dim(Config& config) {
  if (!config.has("head_dim")) {
    require_heads_divide(config);
    config.set("head_dim", config.integer("dim") / config.integer("heads"));
  }
}

namespace {

void resolve_widths(Config& config) {
  const bool widths_given = config.has("qk_dim") && config.has("v_dim");
  if (!widths_given) {
    resolve_head_dim(config);
  }
  // A width equal to head_dim says nothing: one id for one case.
  for (const char* name : {"qk_dim", "v_dim"}) {
    if (config.has(name) && config.has("head_dim") && config.integer(name) == config.integer("head_dim")) {
      config.erase(name);
    }
  }
  if (config.flag("rope") && qk_dim_of(config) % 2 != 0) {
    throw Error(ErrorKind::kInvalid, fmt::format("--rope needs an even head width, not {}", qk_dim_of(config)));
  }
}

void resolve_context(Config& config) {
  const bool cached = config.has("phase") || config.integer_or("past_len", 0) > 0;
  if (config.has("kv_len") && cached) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("--kv-len {} (cross attention) and a KV cache (--phase, --past-len) exclude each "
                            "other: the cache has past_len + seq_len keys",
                            config.integer("kv_len")));
  }
  if (config.has("kv_len") && config.flag("rope")) {
    throw Error(ErrorKind::kInvalid, "--rope is defined for self-attention only: leave out --kv-len or --rope");
  }
  if (cached && !config.has("past_len")) {
    config.set("past_len", std::int64_t{0});
  }
  if (config.has("past_len") && config.integer("past_len") == 0 && !config.has("phase")) {
    config.erase("past_len"); // no cache: the same case as without the flag
  }
  if (config.has("window") && !config.flag("causal")) {
    throw Error(ErrorKind::kInvalid, fmt::format("--window {} keeps the last keys of a causal attention: add --causal",
                                                 config.integer("window")));
  }
}

} // namespace

void resolve_multi_head(Config& config, std::int64_t kv_heads) {
  const std::int64_t heads = config.integer("heads");
  if (kv_heads > heads || heads % kv_heads != 0) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("--kv-heads {} does not divide --heads {}: each key head serves a whole group of "
                            "query heads",
                            kv_heads, heads));
  }
  resolve_widths(config);
  resolve_context(config);
}

View build_attention_core(GraphBuilder& builder, const View& q, const View& k, const View& v, const ScoreSteps& steps) {
  const std::int64_t n_q = q.dims.back(1);
  const std::int64_t n_k = k.dims.back(1);
  // A mask that hides nothing (one token against its whole past) is launched by nobody.
  const bool masked = steps.mask.any() && attended_pairs(steps.mask, n_q, n_k) != Count(n_q) * n_k;
  const Mask used = masked ? steps.mask : Mask{};
  View scores = builder.matmul("scores", q, k.transpose(k.rank() - 2, k.rank() - 1),
                               {used, MatMul::MaskAxes::kRowsColumns, steps.useful_pairs});
  if (steps.cap > 0.0) {
    scores = builder.scale("scale", scores, steps.scale / steps.cap);
    scores = builder.scale("cap", builder.activation("cap_tanh", scores, StepFn::kTanh), steps.cap);
  } else {
    scores = builder.scale("scale", scores, steps.scale);
  }
  if (steps.bias) {
    scores = builder.add("bias", scores, *steps.bias);
  }
  if (masked) {
    scores = builder.pointwise("mask", scores, {StepFn::kMaskFill, 0.0, {}, used});
  }
  return builder.matmul("mix", builder.softmax("softmax", scores), v,
                        {used, MatMul::MaskAxes::kRowsInner, steps.useful_pairs});
}

namespace {

/// Puts new keys into a full ring of `kept`, in place of the oldest, and returns all that the new queries may see.
View append_to_ring(GraphBuilder& builder, const std::string& name, const View& x, std::int64_t past_len,
                    std::int64_t kept) {
  const std::string_view leaf = std::string_view(name).substr(0, 1);
  const std::int64_t tokens = x.dims[2];
  const View cache = builder.cache(name, {x.dims[0], x.dims[1], kept, x.dims[3]}, past_len);
  View all = x;
  if (past_len > 0) {
    all = builder.temporary({x.dims[0], x.dims[1], past_len + tokens, x.dims[3]});
    builder.copy_into({leaf, "_past_concat"}, cache.slice(2, 0, past_len), all.slice(2, 0, past_len));
    builder.copy_into({leaf, "_new_concat"}, x, all.slice(2, past_len, tokens));
  }
  if (tokens >= kept) {
    builder.copy_into({leaf, "_append"}, x.slice(2, tokens - kept, kept), cache);
    return all;
  }
  const std::int64_t free = kept - past_len;
  builder.copy_into({leaf, "_append"}, x.slice(2, 0, free), cache.slice(2, past_len, free));
  builder.copy_into({leaf, "_roll"}, x.slice(2, free, tokens - free), cache.slice(2, 0, tokens - free));
  return all;
}

/// Appends k [batch, kv_heads, tokens, width] to a cache and returns the whole cache, or what was in it and is new.
View append(GraphBuilder& builder, const std::string& name, const View& x, const MultiHead& s) {
  const std::int64_t window = s.mask.window;
  // No more than window - 1 past tokens can be seen.
  const std::int64_t past_len = window > 0 ? std::min(*s.past_len, window - 1) : *s.past_len;
  if (window > 0 && past_len + x.dims[2] > window) {
    return append_to_ring(builder, name, x, past_len, window);
  }
  const View cache = builder.cache(name, {x.dims[0], x.dims[1], past_len + x.dims[2], x.dims[3]}, past_len);
  builder.copy_into({std::string_view(name).substr(0, 1), "_append"}, x, cache.slice(2, past_len, x.dims[2]));
  return cache;
}

View context_of(GraphBuilder& builder, const MultiHead& s, const View& x) {
  if (!s.kv_len) {
    return x;
  }
  const Extents dims{s.batch, *s.kv_len, x.dims.back()};
  const TensorId known = builder.graph().find("context"); // one context serves all blocks
  return (known >= 0 ? dense_view(known, dims) : builder.input("context", dims)).as_matrix();
}

struct Heads {
  View q, k, v; ///< [batch, heads | kv_heads, tokens, width]
};

Heads projected_heads(GraphBuilder& builder, const MultiHead& s, const View& x) {
  const std::int64_t q_width = s.heads * s.qk_dim;
  const std::int64_t k_width = s.kv_heads * s.qk_dim;
  const std::int64_t v_width = s.kv_heads * s.v_dim;
  View q;
  View k;
  View v;
  if (s.joint_qkv) {
    const View joint = project(builder, "qkv", x, q_width + k_width + v_width, s.qkv_bias);
    q = joint.slice(1, 0, q_width);
    k = joint.slice(1, q_width, k_width);
    v = joint.slice(1, q_width + k_width, v_width);
  } else {
    const View context = context_of(builder, s, x);
    q = project(builder, "q", x, q_width, s.qkv_bias);
    k = project(builder, "k", context, k_width, s.qkv_bias);
    v = project(builder, "v", context, v_width, s.qkv_bias);
  }
  return {split_heads(builder, "q", q, s.batch, s.heads), split_heads(builder, "k", k, s.batch, s.kv_heads),
          split_heads(builder, "v", v, s.batch, s.kv_heads)};
}

/// Rotates the first `width` channels of each head; where some stay, frameworks join both parts by two copies.
View rotated(GraphBuilder& builder, const std::string& name, const View& x, const MultiHead& s) {
  const View table = builder.rope_table(s.tokens, s.rope_dim, s.first_position);
  if (s.rope_dim == x.dims.back()) {
    return builder.rope({name, "_rope"}, x, table);
  }
  const View turned = builder.rope({name, "_rope"}, x.slice(3, 0, s.rope_dim), table);
  const View out = builder.temporary(x.dims);
  const std::int64_t rest = x.dims.back() - s.rope_dim;
  builder.copy_into({name, "_rope_concat"}, turned, out.slice(3, 0, s.rope_dim));
  builder.copy_into({name, "_pass_concat"}, x.slice(3, s.rope_dim, rest), out.slice(3, s.rope_dim, rest));
  return out;
}

View head_norm(GraphBuilder& builder, const std::string& name, const View& x, double eps) {
  return builder.rmsnorm({name, "_norm"}, x, builder.weight({name, "_gamma"}, {x.dims.back()}), eps);
}

/// Slopes 2^(-8 i / heads) of the heads, i from 1; a count that is no power of two takes every second slope of the next
/// power, as BLOOM's code does (Press et al. 2022, section 3 and its released code).
std::vector<double> alibi_slopes(std::int64_t heads) {
  std::vector<double> slopes;
  std::int64_t power = 1;
  while (power * 2 <= heads) {
    power *= 2;
  }
  for (std::int64_t i = 1; i <= power; ++i) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(i) / static_cast<double>(power)));
  }
  for (std::int64_t i = 1; i <= heads - power; ++i) {
    slopes.push_back(std::exp2(-4.0 * static_cast<double>(2 * i - 1) / static_cast<double>(power)));
  }
  return slopes;
}

/// The slope of a head times the position of the key: [heads, keys].
View alibi_bias(GraphBuilder& builder, const MultiHead& s, std::int64_t keys) {
  const Count entries = Count(s.heads) * keys;
  const auto make = [&] {
    GraphBuilder::Values values = constant_values(entries);
    for (const double slope : alibi_slopes(s.heads)) {
      for (std::int64_t key = 0; values && key < keys; ++key) {
        values->push_back(static_cast<float>(slope * static_cast<double>(key)));
      }
    }
    return values;
  };
  return builder.constant(fmt::format("alibi_{}_{}", s.heads, keys), {s.heads, keys}, make);
}

/// Query heads beside their shared key head: [batch, kv_heads, group, tokens, width]; plain heads stay as they are.
View grouped(const View& q, const MultiHead& s) {
  return s.heads == s.kv_heads ? q : q.split(1, s.kv_heads, s.heads / s.kv_heads);
}
View shared_by_group(const View& kv, const MultiHead& s) {
  return s.heads == s.kv_heads ? kv : kv.broadcast(2, s.heads / s.kv_heads);
}

/// Heads [batch, (kv_heads, group | heads), tokens, v_dim] side by side, times wo.
View output_of(GraphBuilder& builder, const MultiHead& s, View mixed, std::int64_t dim) {
  if (s.heads != s.kv_heads) {
    mixed = mixed.merge(1);
  }
  return merge_heads(builder, mixed, dim, s.out_bias);
}

} // namespace

View build_multi_head(GraphBuilder& builder, const MultiHead& s, const View& x) {
  Heads h = projected_heads(builder, s, x);
  if (s.qk_norm) {
    h.q = head_norm(builder, "q", h.q, s.norm_eps);
    h.k = head_norm(builder, "k", h.k, s.norm_eps);
  }
  if (s.rope_dim > 0) {
    h.q = rotated(builder, "q", h.q, s);
    h.k = rotated(builder, "k", h.k, s);
  }
  if (s.past_len) {
    h.k = append(builder, "k_cache", h.k, s);
    h.v = append(builder, "v_cache", h.v, s);
  }
  ScoreSteps steps{s.scale > 0.0 ? s.scale : 1.0 / std::sqrt(static_cast<double>(s.qk_dim)), s.score_cap, {}, s.mask};
  if (s.alibi) {
    const View bias = alibi_bias(builder, s, h.k.dims[2]).broadcast(1, s.tokens).broadcast(0, s.batch);
    steps.bias = grouped(bias, s);
  }
  View mixed = build_attention_core(builder, grouped(h.q, s), shared_by_group(h.k, s), shared_by_group(h.v, s), steps);
  return output_of(builder, s, mixed, x.dims.back());
}

namespace {

MultiHead multi_head_of(const Config& config, std::int64_t kv_heads) {
  MultiHead s;
  s.batch = config.integer("batch");
  s.tokens = config.integer("seq_len");
  s.heads = config.integer("heads");
  s.kv_heads = kv_heads;
  s.qk_dim = qk_dim_of(config);
  s.v_dim = v_dim_of(config);
  if (config.has("past_len")) {
    s.past_len = s.first_position = config.integer("past_len");
  }
  if (config.has("kv_len")) {
    s.kv_len = config.integer("kv_len");
  }
  s.mask = {config.flag("causal"), config.integer_or("window", 0)};
  s.rope_dim = config.flag("rope") ? s.qk_dim : 0;
  return s;
}

} // namespace

View build_multi_head(GraphBuilder& builder, const Config& config, const View& x, std::int64_t kv_heads) {
  return build_multi_head(builder, multi_head_of(config, kv_heads), x);
}

View build_on_attention_weights(GraphBuilder& builder, const Config& config, const View& x, std::int64_t kv_heads,
                                const View& weights) {
  if (config.has("past_len") || config.has("kv_len")) {
    throw Error(ErrorKind::kInvalid,
                "attention weights of an earlier block cannot be reused with a KV cache or a cross "
                "attention: leave out --phase, --past-len and --kv-len");
  }
  const MultiHead s = multi_head_of(config, kv_heads);
  const View v = split_heads(builder, "v", project(builder, "v", x, kv_heads * s.v_dim), s.batch, kv_heads);
  const View mixed = builder.matmul("mix", weights, shared_by_group(v, s), {s.mask, MatMul::MaskAxes::kRowsInner});
  return output_of(builder, s, mixed, x.dims.back());
}

} // namespace attnprof::operators
