#include "operators/layers/multi_head.hpp"

namespace attnprof::operators {

VariantDescriptor describe_variant_mha() {
  VariantDescriptor out;
  out.name = "mha";
  out.summary = "multi-head attention, a key and value head for each query head";
  out.source = "Vaswani et al. 2017, Attention Is All You Need, eq. 1 and section 3.2.2";
  out.params = multi_head_params();
  out.resolve = [](Config& config) { resolve_multi_head(config, config.integer("heads")); };
  out.build = [](GraphBuilder& builder, const Config& config, const View& x) {
    return build_multi_head(builder, config, x, config.integer("heads"));
  };
  out.build_on_weights = [](GraphBuilder& builder, const Config& config, const View& x, const View& weights) {
    return build_on_attention_weights(builder, config, x, config.integer("heads"), weights);
  };
  out.samples = {"batch=2:seq_len=5:dim=12:heads=3",
                 "seq_len=70:dim=8:heads=2:causal=true:rope=true",
                 "seq_len=6:dim=8:heads=2:qk_dim=2:v_dim=6",
                 "seq_len=4:kv_len=7:dim=8:heads=2:causal=true",
                 "seq_len=7:kv_len=4:dim=8:heads=2:causal=true",
                 "seq_len=3:past_len=68:dim=8:heads=2:causal=true:rope=true:phase=decode",
                 "seq_len=80:dim=8:heads=2:causal=true:window=5",
                 "phase=decode:past_len=150:dim=8:heads=2:causal=true:window=16",
                 "phase=prefill:seq_len=6:dim=8:heads=2:causal=true"};
  out.in_default_sweep = true;
  return out;
}

} // namespace attnprof::operators
