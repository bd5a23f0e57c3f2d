#include "operators/layers/multi_head.hpp"

#include <algorithm>

namespace attnprof::operators {

VariantDescriptor describe_variant_gqa() {
  VariantDescriptor out;
  out.name = "gqa";
  out.summary = "grouped-query attention, each key and value head serves a group of query heads";
  out.source = "Ainslie et al. 2023, GQA: Training Generalized Multi-Query Transformer Models, section 2.2";
  out.params = multi_head_params();
  out.params.insert(out.params.begin(), "kv_heads");
  out.resolve = [](Config& config) {
    if (!config.has("kv_heads")) {
      config.set("kv_heads", std::max<std::int64_t>(1, config.integer("heads") / 4));
    }
    resolve_multi_head(config, config.integer("kv_heads"));
  };
  out.build = [](GraphBuilder& builder, const Config& config, const View& x) {
    return build_multi_head(builder, config, x, config.integer("kv_heads"));
  };
  out.build_on_weights = [](GraphBuilder& builder, const Config& config, const View& x, const View& weights) {
    return build_on_attention_weights(builder, config, x, config.integer("kv_heads"), weights);
  };
  out.samples = {"batch=2:seq_len=5:dim=16:heads=4:kv_heads=2", "seq_len=6:dim=8:heads=4:kv_heads=4",
                 "seq_len=70:dim=16:heads=4:kv_heads=2:causal=true:rope=true",
                 "phase=decode:seq_len=3:past_len=70:dim=16:heads=4:kv_heads=2:causal=true:rope=true"};
  out.in_default_sweep = true;
  return out;
}

} // namespace attnprof::operators
