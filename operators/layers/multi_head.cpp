#include "operators/layers/multi_head.hpp"

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

namespace {

void resolve_widths(Config& config) {
  const bool widths_given = config.has("qk_dim") && config.has("v_dim");
  if (!config.has("head_dim") && !widths_given) {
    require_heads_divide(config);
    config.set("head_dim", config.integer("dim") / config.integer("heads"));
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

View build_attention_core(GraphBuilder& builder, const View& q, const View& k, const View& v, double scale,
                          const Mask& mask) {
  const std::int64_t n_q = q.dims.back(1);
  const std::int64_t n_k = k.dims.back(1);
  // A mask that hides nothing (one token against its whole past) is launched by nobody.
  const bool masked = mask.any() && attended_pairs(mask, n_q, n_k) != Count(n_q) * n_k;
  const Mask used = masked ? mask : Mask{};
  View scores =
      builder.matmul("scores", q, k.transpose(k.rank() - 2, k.rank() - 1), {used, MatMul::MaskAxes::kRowsColumns});
  scores = builder.scale("scale", scores, scale);
  if (masked) {
    scores = builder.pointwise("mask", scores, {StepFn::kMaskFill, 0.0, {}, used});
  }
  return builder.matmul("mix", builder.softmax("softmax", scores), v, {used, MatMul::MaskAxes::kRowsInner});
}

namespace {

struct Sizes {
  std::int64_t batch, tokens, dim, heads, kv_heads, group, qk_dim, v_dim, past_len;
};

/// [batch * tokens, heads * width] -> [batch, heads, tokens, width]; eager frameworks copy here.
View split_heads(GraphBuilder& builder, const std::string& leaf, const View& x, std::int64_t batch,
                 std::int64_t heads) {
  const View split = x.split(0, batch, x.dims[0] / batch).split(2, heads, x.dims[1] / heads);
  return builder.layout_copy(leaf, split.transpose(1, 2));
}

/// Appends k [batch, kv_heads, tokens, width] to a cache and returns the whole cache.
View append(GraphBuilder& builder, const std::string& name, const View& x, std::int64_t past_len) {
  const View cache = builder.cache(name, {x.dims[0], x.dims[1], past_len + x.dims[2], x.dims[3]}, past_len);
  builder.copy_into(name.substr(0, 1) + "_append", x, cache.slice(2, past_len, x.dims[2]));
  return cache;
}

View context_of(GraphBuilder& builder, const Config& config, const View& x) {
  if (!config.has("kv_len")) {
    return x;
  }
  const Extents dims{config.integer("batch"), config.integer("kv_len"), config.integer("dim")};
  const TensorId known = builder.graph().find("context"); // one context serves all blocks
  return (known >= 0 ? dense_view(known, dims) : builder.input("context", dims)).as_matrix();
}

/// Query heads beside their shared key head: [batch, kv_heads, group, tokens, width]; plain heads stay as they are.
View grouped_queries(const View& q, const Sizes& s) {
  return s.group == 1 ? q : q.split(1, s.kv_heads, s.group);
}
View shared_by_group(const View& kv, const Sizes& s) {
  return s.group == 1 ? kv : kv.broadcast(2, s.group);
}

} // namespace

View build_multi_head(GraphBuilder& builder, const Config& config, const View& x, std::int64_t kv_heads) {
  const std::int64_t heads = config.integer("heads");
  const Sizes s{config.integer("batch"),
                config.integer("seq_len"),
                x.dims.back(),
                heads,
                kv_heads,
                heads / kv_heads,
                qk_dim_of(config),
                v_dim_of(config),
                config.integer_or("past_len", 0)};
  const View context = context_of(builder, config, x);
  View q = builder.matmul("q_proj", x, builder.weight("wq", {s.dim, s.heads * s.qk_dim}));
  View k = builder.matmul("k_proj", context, builder.weight("wk", {s.dim, s.kv_heads * s.qk_dim}));
  View v = builder.matmul("v_proj", context, builder.weight("wv", {s.dim, s.kv_heads * s.v_dim}));
  q = split_heads(builder, "q_split", q, s.batch, s.heads);
  k = split_heads(builder, "k_split", k, s.batch, s.kv_heads);
  v = split_heads(builder, "v_split", v, s.batch, s.kv_heads);
  if (config.flag("rope")) {
    const View table = builder.rope_table(s.tokens, s.qk_dim, s.past_len);
    q = builder.rope("q_rope", q, table);
    k = builder.rope("k_rope", k, table);
  }
  if (config.has("past_len")) {
    k = append(builder, "k_cache", k, s.past_len);
    v = append(builder, "v_cache", v, s.past_len);
  }
  const Mask mask{config.flag("causal"), config.integer_or("window", 0)};
  View mixed = build_attention_core(builder, grouped_queries(q, s), shared_by_group(k, s), shared_by_group(v, s),
                                    1.0 / std::sqrt(static_cast<double>(s.qk_dim)), mask);
  if (s.group > 1) {
    mixed = mixed.merge(1);
  }
  const View merged = builder.layout_copy("merge", mixed.transpose(1, 2)).merge(2).as_matrix();
  return builder.matmul("out_proj", merged, builder.weight("wo", {s.heads * s.v_dim, s.dim}));
}

} // namespace attnprof::operators
