#include "operators/layers/multi_head.hpp"
#include "operators/layers/windows.hpp"

#include <cmath>

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  if (!config.has("head_dim")) {
    require_heads_divide(config);
    config.set("head_dim", config.integer("dim") / config.integer("heads"));
  }
  resolve_windows(config);
}

/// The bias of every window: the relative positions alone, or with the mask of a shift, broadcast to the scores
/// [batch * count, heads, side², side²].
View window_bias(GraphBuilder& builder, const Windows& w, std::int64_t heads) {
  const View bias = relative_bias(builder, w, heads);
  if (w.shift == 0) {
    return bias.broadcast(0, w.batch * w.count());
  }
  const View masked =
      builder.add("bias_mask", bias.broadcast(0, w.count()), shift_mask(builder, w).broadcast(1, heads));
  return masked.broadcast(0,
                          w.batch); // [batch, count, heads, ...]: the batch repeats, so it stays a dimension of its own
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const Windows w = windows_of(config);
  const std::int64_t heads = config.integer("heads");
  const std::int64_t head_dim = config.integer("head_dim");
  const View tokens = partition(builder, w, x);
  const auto project = [&](const std::string& name) {
    const View y = builder.matmul(name + "_proj", tokens.as_matrix(),
                                  builder.weight("w" + name, {x.dims.back(), heads * head_dim}));
    return builder.layout_copy(name + "_split",
                               y.split(0, w.batch * w.count(), w.tokens()).split(2, heads, head_dim).transpose(1, 2));
  };
  const View q = project("q");
  const View k = project("k");
  const View v = project("v");
  const std::int64_t pairs = (Count(real_window_pairs(w)) * heads).value();
  View scores = builder.matmul("scores", q, k.transpose(2, 3), {{}, MatMul::MaskAxes::kRowsColumns, pairs});
  scores = builder.scale("scale", scores, 1.0 / std::sqrt(static_cast<double>(head_dim)));
  const View bias = window_bias(builder, w, heads);
  if (bias.rank() == 5) {
    scores = builder.add("bias", scores.split(0, w.batch, w.count()), bias).merge(0);
  } else {
    scores = builder.add("bias", scores, bias);
  }
  const View mixed =
      builder.matmul("mix", builder.softmax("softmax", scores), v, {{}, MatMul::MaskAxes::kRowsInner, pairs});
  const View merged = builder.layout_copy("merge", mixed.transpose(1, 2)).merge(2).as_matrix();
  const View y = builder.matmul("out_proj", merged, builder.weight("wo", {heads * head_dim, x.dims.back()}));
  return unpartition(builder, w, y.split(0, w.batch * w.count(), w.tokens()));
}

} // namespace

VariantDescriptor describe_variant_window() {
  VariantDescriptor out;
  out.name = "window";
  out.summary =
      "attention inside square windows with a relative position bias, shifted or not; padding is executed, not useful";
  out.source =
      "Liu et al. 2021, Swin Transformer: Hierarchical Vision Transformer using Shifted Windows, eq. 4 and figure 4";
  out.params = {"heads", "head_dim", "window", "shift"};
  out.resolve = resolve;
  out.build = build;
  out.samples = {"batch=2:grid=4x4:dim=8:heads=2:window=2", "batch=2:grid=4x6:dim=8:heads=2:window=2:shift=1",
                 "grid=3x5:dim=8:heads=2:window=2", "grid=5x3:dim=8:heads=2:window=3:shift=1",
                 "grid=4x4:dim=8:heads=2:window=7"};
  out.in_default_sweep = true;
  return out;
}

} // namespace attnprof::operators
