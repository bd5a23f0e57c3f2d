#include "operators/layers/grouped_heads.hpp"
#include "operators/layers/multi_head.hpp"

#include <cmath>

namespace attnprof::operators {
namespace {

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const GroupedHeads s = grouped_heads(builder, config, x);
  // [batch, heads, tokens, slice]; eager frameworks chunk the channels and copy.
  const View slices = x.split(0, s.batch, s.tokens).split(2, s.heads, s.slice).transpose(1, 2);
  const View heads = builder.layout_copy("x_split", slices);
  const auto project = [&](const char* leaf, const View& w) {
    return builder.matmul(leaf, heads, w.broadcast(0, s.batch));
  };
  const View q = project("q_proj", s.wq);
  const View k = project("k_proj", s.wk);
  const View v = project("v_proj", s.wv);
  const View mixed =
      build_attention_core(builder, q, k, v, {1.0 / std::sqrt(static_cast<double>(s.qk_dim)), 0.0, {}, {}});
  return project_heads(builder, s, builder.layout_copy("merge", mixed.transpose(1, 2)));
}

} // namespace

VariantDescriptor describe_variant_group() {
  VariantDescriptor out;
  out.name = "group";
  out.summary = "group attention, each head sees only its slice of the channels";
  out.source =
      "Liu et al. 2023, EfficientViT: Memory Efficient Vision Transformer with Cascaded Group Attention, section 3.2";
  out.params = {"heads", "qk_dim", "v_dim"};
  out.resolve = resolve_grouped_heads;
  out.build = build;
  out.samples = {"batch=2:seq_len=5:dim=12:heads=3:qk_dim=2", "seq_len=70:dim=12:heads=3:qk_dim=2:v_dim=7"};
  out.in_default_sweep = true;
  return out;
}

} // namespace attnprof::operators
