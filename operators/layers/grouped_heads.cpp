#include "operators/layers/grouped_heads.hpp"

#include "operators/layers/multi_head.hpp"

namespace attnprof::operators {

void resolve_grouped_heads(Config& config) {
  require_heads_divide(config);
  if (!config.has("qk_dim")) {
    config.set("qk_dim", std::int64_t{16});
  }
  if (!config.has("v_dim")) {
    config.set("v_dim", config.integer("dim") / config.integer("heads"));
  }
}

GroupedHeads grouped_heads(GraphBuilder& builder, const Config& config, const View& x) {
  GroupedHeads out;
  out.batch = config.integer("batch");
  out.dim = x.dims.back();
  out.tokens = x.dims[0] / out.batch;
  out.heads = config.integer("heads");
  out.slice = out.dim / out.heads;
  out.qk_dim = config.integer("qk_dim");
  out.v_dim = config.integer("v_dim");
  out.wq = builder.weight("wq", {out.heads, out.slice, out.qk_dim});
  out.wk = builder.weight("wk", {out.heads, out.slice, out.qk_dim});
  out.wv = builder.weight("wv", {out.heads, out.slice, out.v_dim});
  return out;
}

View project_heads(GraphBuilder& builder, const GroupedHeads& heads, const View& mixed) {
  return builder.matmul("out_proj", mixed.merge(2).as_matrix(),
                        builder.weight("wo", {heads.heads * heads.v_dim, heads.dim}));
}

} // namespace attnprof::operators
