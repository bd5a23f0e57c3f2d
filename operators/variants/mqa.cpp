#include "operators/layers/multi_head.hpp"

namespace attnprof::operators {

VariantDescriptor describe_variant_mqa() {
  VariantDescriptor out;
  out.name = "mqa";
  out.summary = "multi-query attention, one key and value head for all query heads";
  out.source = "Shazeer 2019, Fast Transformer Decoding: One Write-Head is All You Need, section 3";
  out.params = multi_head_params();
  out.resolve = [](Config& config) { resolve_multi_head(config, 1); };
  out.build = [](GraphBuilder& builder, const Config& config, const View& x) {
    return build_multi_head(builder, config, x, 1);
  };
  out.build_on_weights = [](GraphBuilder& builder, const Config& config, const View& x, const View& weights) {
    return build_on_attention_weights(builder, config, x, 1, weights);
  };
  out.samples = {"batch=2:seq_len=5:dim=12:heads=3", "seq_len=6:dim=8:heads=4:causal=true",
                 "phase=decode:past_len=9:dim=8:heads=2:causal=true:rope=true"};
  out.in_default_sweep = true;
  return out;
}

} // namespace attnprof::operators
