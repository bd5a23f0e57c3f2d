#include "operators/layers/conv_norm.hpp"

namespace attnprof::operators {
namespace {

View convolved(GraphBuilder& builder, const std::string& name, const View& x, std::int64_t out, const ConvNorm& o,
               const View& bias) {
  if (o.depthwise) {
    const View w = builder.weight("w", {x.dims.back(), o.kernel, o.kernel});
    return builder.depthwise_conv2d(name, x, w, bias, o.stride, o.kernel / 2, o.useful_taps);
  }
  if (o.kernel == 1 && o.stride == 1) {
    const View w = builder.weight("w", {x.dims.back(), out});
    const View rows = x.as_matrix();
    const View y = bias.tensor < 0 ? builder.matmul(name, rows, w) : builder.linear(name, rows, w, bias);
    return x.rank() == 4 ? y.split(0, x.dims[0], x.dims[1] * x.dims[2]).split(1, x.dims[1], x.dims[2]) : y;
  }
  const View w = builder.weight("w", {out, o.kernel, o.kernel, x.dims.back()});
  return builder.conv2d(name, x, w, bias, o.stride, o.kernel / 2, 1);
}

} // namespace

ParamSpec folded_param() {
  return {"folded", ParamKind::kFlag, "BatchNorm folded into the convolutions", false, 0, 0, {}};
}

View batch_norm(GraphBuilder& builder, const std::string& name, const View& x) {
  const WeightPrefix prefix(builder, name + ".");
  const View gamma = builder.weight("gamma", {x.dims.back()});
  const View scaled = builder.mul(name + "_scale", x, each_row(gamma, x));
  return builder.add(name + "_shift", scaled, each_row(builder.weight("beta", {x.dims.back()}), x));
}

View conv_norm(GraphBuilder& builder, const std::string& name, const View& x, std::int64_t out,
               const ConvNorm& options) {
  const WeightPrefix prefix(builder, name + ".");
  if (options.folded) {
    return convolved(builder, name, x, out, options, builder.weight("b", {out}));
  }
  return batch_norm(builder, name + "_bn", convolved(builder, name, x, out, options, View{}));
}

} // namespace attnprof::operators
