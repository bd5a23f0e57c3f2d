#include "operators/layers/grouped_heads.hpp"
#include "operators/layers/multi_head.hpp"

#include <cmath>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  resolve_grouped_heads(config);
  const std::int64_t slice = config.integer("dim") / config.integer("heads");
  if (config.integer("v_dim") != slice) {
    throw Error(
        ErrorKind::kInvalid,
        fmt::format("cga adds each head's output to the next head's slice of dim/heads = {} channels, so --v-dim {} is "
                    "not possible: use {} or the variant group",
                    slice, config.integer("v_dim"), slice));
  }
}

/// Head j reads slice j plus the output of head j - 1 (eq. 3 and 4): a chain that no batching can shorten.
View build(GraphBuilder& builder, const Config& config, const View& x) {
  const GroupedHeads s = grouped_heads(builder, config, x);
  const View slices = x.split(0, s.batch, s.tokens).split(2, s.heads, s.slice);
  const View mixed = builder.temporary({s.batch, s.tokens, s.heads, s.v_dim});
  const double scale = 1.0 / std::sqrt(static_cast<double>(s.qk_dim));
  View previous;
  for (std::int64_t head = 0; head < s.heads; ++head) {
    const auto scope = builder.scope(fmt::format("head{}", head));
    View input = slices.select(2, head);
    if (head > 0) {
      input = builder.add("cascade_add", input, previous);
    }
    const auto project = [&](const char* leaf, const View& w) {
      return builder.matmul(leaf, input, w.select(0, head).broadcast(0, s.batch));
    };
    const View q = project("q_proj", s.wq);
    const View k = project("k_proj", s.wk);
    const View v = project("v_proj", s.wv);
    previous = build_attention_core(builder, q, k, v, {scale, 0.0, {}, {}});
    builder.layout_copy_into("concat", previous, mixed.select(2, head));
  }
  return project_heads(builder, s, mixed);
}

} // namespace

VariantDescriptor describe_variant_cga() {
  VariantDescriptor out;
  out.name = "cga";
  out.summary = "cascaded group attention, each head adds the output of the one before to its slice";
  out.source =
      "Liu et al. 2023, EfficientViT: Memory Efficient Vision Transformer with Cascaded Group Attention, eq. 3 and 4";
  out.params = {"heads", "qk_dim", "v_dim"};
  out.resolve = resolve;
  out.build = build;
  out.samples = {"batch=2:seq_len=5:dim=12:heads=3:qk_dim=2", "seq_len=70:dim=8:heads=2:qk_dim=3"};
  out.in_default_sweep = true;
  return out;
}

} // namespace attnprof::operators
