#include "operators/layers/window_attention.hpp"

#include "operators/layers/heads.hpp"

#include <cmath>

namespace attnprof::operators {
namespace {

/// The bias of every window: the relative positions alone, or with the mask of a shift, broadcast to the scores
/// [batch * count, heads, side², side²].
View window_bias(GraphBuilder& builder, const Windows& w, std::int64_t heads) {
  const View bias = relative_bias(builder, w, heads);
  if (w.shift == 0) {
    return bias.broadcast(0, w.batch * w.count());
  }
  const View masked =
      builder.add("bias_mask", bias.broadcast(0, w.count()), shift_mask(builder, w).broadcast(1, heads));
  // [batch, count, heads, ...]: a batch repeats, so it stays a dimension of its own. A single image needs none, and its
  // scores are then fused.
  return w.batch == 1 ? masked : masked.broadcast(0, w.batch);
}

struct WindowHeads {
  View q, k, v; ///< [windows, heads, tokens, head_dim]
};

WindowHeads projected(GraphBuilder& builder, const WindowAttention& a, const View& windows) {
  const std::int64_t width = a.heads * a.head_dim;
  const View tokens = windows.as_matrix();
  const auto split = [&](const std::string& name, const View& y) {
    return split_heads(builder, name, y, windows.dims[0], a.heads);
  };
  if (a.biases) {
    const View joint = project(builder, "qkv", tokens, 3 * width, true);
    return {split("q", joint.slice(1, 0, width)), split("k", joint.slice(1, width, width)),
            split("v", joint.slice(1, 2 * width, width))};
  }
  const View q = split("q", project(builder, "q", tokens, width));
  const View k = split("k", project(builder, "k", tokens, width));
  return {q, k, split("v", project(builder, "v", tokens, width))};
}

/// scores + bias, where the bias of several images has a dimension of its own for them.
View add_bias(GraphBuilder& builder, const Windows& w, const View& scores, const View& bias) {
  return bias.rank() == 5 ? builder.add("bias", scores.split(0, w.batch, w.count()), bias).merge(0)
                          : builder.add("bias", scores, bias);
}

} // namespace

View build_window_attention(GraphBuilder& builder, const WindowAttention& a, const View& x) {
  const Windows& w = a.windows;
  const GraphBuilder::RealRows rows = real_window_rows(builder, w);
  const WindowHeads h = projected(builder, a, partition(builder, w, x));
  const std::int64_t pairs = (Count(real_window_pairs(w)) * a.heads).value();
  View scores = builder.matmul("scores", h.q, h.k.transpose(2, 3), {{}, MatMul::MaskAxes::kRowsColumns, pairs});
  scores = builder.scale("scale", scores, 1.0 / std::sqrt(static_cast<double>(a.head_dim)));
  if (a.position_bias) {
    scores = add_bias(builder, w, scores, window_bias(builder, w, a.heads));
  }
  const View mixed =
      builder.matmul("mix", builder.softmax("softmax", scores), h.v, {{}, MatMul::MaskAxes::kRowsInner, pairs});
  const View y = merge_heads(builder, mixed, x.dims.back(), a.biases);
  return unpartition(builder, w, y.split(0, w.batch * w.count(), w.tokens()));
}

} // namespace attnprof::operators
