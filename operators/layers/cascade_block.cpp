#include "operators/layers/cascade_block.hpp"

#include "operators/layers/windows.hpp"

#include <cmath>
#include <fmt/format.h>
#include <map>

namespace attnprof::operators {
namespace {

View residual_dwconv(GraphBuilder& builder, const std::string& name, const View& x, bool folded) {
  const Part part(builder, name);
  return builder.add("residual", x, conv_norm(builder, "dwconv", x, x.dims.back(), {3, 1, true, folded}));
}

View residual_ffn(GraphBuilder& builder, const std::string& name, const View& x, bool folded) {
  const Part part(builder, name);
  View y = conv_norm(builder, "fc1", x, 2 * x.dims.back(), {1, 1, false, folded});
  y = builder.activation("act", y, StepFn::kRelu);
  return builder.add("residual", x, conv_norm(builder, "fc2", y, x.dims.back(), {1, 1, false, folded}));
}

/// Bias of each head by the absolute offsets of two tokens of a window, [heads, tokens, tokens], from a table of one
/// entry for each pair of offsets.
View offset_bias(GraphBuilder& builder, std::int64_t side, std::int64_t heads) {
  const std::int64_t tokens = side * side;
  std::vector<float> index;
  for (std::int64_t a = 0; a < tokens; ++a) {
    for (std::int64_t b = 0; b < tokens; ++b) {
      index.push_back(static_cast<float>(std::abs(a / side - b / side) * side + std::abs(a % side - b % side)));
    }
  }
  const View table = builder.weight("bias_table", {tokens, heads});
  const View rows = builder.gather(
      "bias_rows", table, builder.constant(fmt::format("offsets_{}", side), {tokens * tokens}, std::move(index)));
  return rows.split(0, tokens, tokens).transpose(1, 2).transpose(0, 1);
}

struct Heads {
  const CascadeStage& stage;
  Windows windows;
  std::int64_t slice, pairs;
};

/// One head on its input [windows, tokens, slice]; the queries pass a depthwise convolution inside the window.
View head_output(GraphBuilder& builder, const Heads& h, std::int64_t head, const View& input, const View& bias) {
  const CascadeStage& s = h.stage;
  const std::int64_t count = input.dims[0];
  const std::int64_t side = h.windows.side;
  const View qkv = conv_norm(builder, "qkv_proj", input.as_matrix(), 2 * s.qk_dim + h.slice, {1, 1, false, s.folded})
                       .split(0, count, h.windows.tokens());
  const View q_map = qkv.slice(2, 0, s.qk_dim).split(1, side, side);
  const std::int64_t kernel = s.query_kernels.at(static_cast<std::size_t>(head));
  const View q = conv_norm(builder, "q_dwconv", q_map, s.qk_dim, {kernel, 1, true, s.folded}).merge(1);
  const View k = qkv.slice(2, s.qk_dim, s.qk_dim);
  const View v = qkv.slice(2, 2 * s.qk_dim, h.slice);
  const double scale = 1.0 / std::sqrt(static_cast<double>(s.qk_dim));
  return build_attention_core(builder, q, k, v, {scale, 0.0, bias.select(0, head).broadcast(0, count), {}, h.pairs});
}

View residual_attention(GraphBuilder& builder, const CascadeStage& s, const View& x) {
  const Part part(builder, "mixer");
  const std::int64_t side = std::min(s.window, s.side);
  const Windows windows{s.batch, s.side, s.side, side, 0};
  const Heads h{s, windows, s.dim / s.heads, real_window_pairs(windows)};
  const View tokens = partition(builder, windows, as_tokens(x));
  const View bias = offset_bias(builder, side, s.heads);
  const View mixed = builder.temporary(tokens.dims);
  View previous;
  for (std::int64_t head = 0; head < s.heads; ++head) {
    const Part one(builder, fmt::format("head{}", head));
    View input = tokens.slice(2, head * h.slice, h.slice);
    input = head > 0 ? builder.add("cascade_add", input, previous) : builder.layout_copy("slice_copy", input);
    previous = head_output(builder, h, head, input, bias);
    builder.layout_copy_into("concat", previous, mixed.slice(2, head * h.slice, h.slice));
  }
  View y = builder.activation("act", mixed, StepFn::kRelu).as_matrix();
  y = conv_norm(builder, "out_proj", y, s.dim, {1, 1, false, s.folded});
  y = unpartition(builder, windows, y.split(0, tokens.dims[0], windows.tokens()));
  return builder.add("residual", x, as_image(y, s.batch, s.side));
}

/// Channels of the squeeze: a quarter, rounded to a multiple of 8 (half up).
std::int64_t squeezed(std::int64_t channels) {
  return (channels / 4 + 4) / 8 * 8;
}

/// x * sigmoid(expand(relu(reduce(mean x)))). Source: Hu et al. 2018, Squeeze-and-Excitation Networks, eq. 2 to 4.
View squeeze_excite(GraphBuilder& builder, const View& x) {
  const Part part(builder, "squeeze");
  const std::int64_t channels = x.dims.back();
  const View mean = mean_tokens(builder, as_tokens(x), x.dims[0]);
  View gate = builder.activation("act", dense(builder, "reduce", mean, squeezed(channels)), StepFn::kRelu);
  gate = builder.activation("gate_act", dense(builder, "expand", gate, channels), StepFn::kSigmoid);
  return builder.mul("gate", x, gate.broadcast(1, x.dims[2]).broadcast(1, x.dims[1]));
}

} // namespace

View cascade_block(GraphBuilder& builder, const CascadeStage& stage, View x) {
  x = residual_dwconv(builder, "pre_dwconv", x, stage.folded);
  x = residual_ffn(builder, "pre_ffn", x, stage.folded);
  x = residual_attention(builder, stage, x);
  x = residual_dwconv(builder, "post_dwconv", x, stage.folded);
  return residual_ffn(builder, "post_ffn", x, stage.folded);
}

View subsample(GraphBuilder& builder, const CascadeStage& stage, std::int64_t dim, View x) {
  x = residual_dwconv(builder, "pre_dwconv", x, stage.folded);
  x = residual_ffn(builder, "pre_ffn", x, stage.folded);
  {
    const Part part(builder, "merge");
    const std::int64_t wide = 4 * stage.dim;
    x = builder.activation("act1", conv_norm(builder, "conv1", x, wide, {1, 1, false, stage.folded}), StepFn::kRelu);
    x = builder.activation("act2", conv_norm(builder, "dwconv", x, wide, {3, 2, true, stage.folded}), StepFn::kRelu);
    x = squeeze_excite(builder, x);
    x = conv_norm(builder, "conv3", x, dim, {1, 1, false, stage.folded});
  }
  x = residual_dwconv(builder, "post_dwconv", x, stage.folded);
  return residual_ffn(builder, "post_ffn", x, stage.folded);
}

View overlapping_patches(GraphBuilder& builder, const View& images, std::int64_t dim, bool folded) {
  const Part part(builder, "patches");
  View x = images;
  for (std::int64_t i = 0; i < 4; ++i) {
    x = conv_norm(builder, fmt::format("conv{}", i + 1), x, dim >> (3 - i), {3, 2, false, folded});
    x = i < 3 ? builder.activation(fmt::format("act{}", i + 1), x, StepFn::kRelu) : x;
  }
  return x;
}

} // namespace attnprof::operators
