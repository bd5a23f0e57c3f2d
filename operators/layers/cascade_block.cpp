#include "operators/layers/cascade_block.hpp"

#include <fmt/format.h>

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

View residual_attention(GraphBuilder& builder, const CascadeStage& s, const View& x) {
  const Part part(builder, "mixer");
  const std::int64_t side = std::min(s.window, s.side);
  const CascadedWindows cascade{{s.batch, s.side, s.side, side, 0}, s.heads, s.qk_dim, s.query_kernels, s.folded};
  return builder.add("residual", x, as_image(build_cascaded_windows(builder, cascade, as_tokens(x)), s.batch, s.side));
}

/// Channels of the squeeze: a quarter, rounded to a multiple of 8 (half up), at least 8.
std::int64_t squeezed(std::int64_t channels) {
  return std::max<std::int64_t>(8, (channels / 4 + 4) / 8 * 8);
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

View subsample(GraphBuilder& builder, View x, std::int64_t dim, bool folded) {
  x = residual_dwconv(builder, "pre_dwconv", x, folded);
  x = residual_ffn(builder, "pre_ffn", x, folded);
  {
    const Part part(builder, "merge");
    const std::int64_t wide = 4 * x.dims.back();
    x = builder.activation("act1", conv_norm(builder, "conv1", x, wide, {1, 1, false, folded}), StepFn::kRelu);
    x = builder.activation("act2", conv_norm(builder, "dwconv", x, wide, {3, 2, true, folded}), StepFn::kRelu);
    x = squeeze_excite(builder, x);
    x = conv_norm(builder, "conv3", x, dim, {1, 1, false, folded});
  }
  x = residual_dwconv(builder, "post_dwconv", x, folded);
  return residual_ffn(builder, "post_ffn", x, folded);
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
