#include "operators/layers/network.hpp"

#include <fmt/format.h>

namespace attnprof::operators {

WeightPrefix::WeightPrefix(GraphBuilder& builder, const std::string& part)
    : builder_(builder), former_(builder.set_weight_prefix("")) {
  builder_.set_weight_prefix(former_ + part);
}
WeightPrefix::~WeightPrefix() {
  builder_.set_weight_prefix(former_);
}

View dense(GraphBuilder& builder, const std::string& name, const View& x, std::int64_t out, bool bias) {
  const WeightPrefix prefix(builder, name + ".");
  const View w = builder.weight("w", {x.dims.back(), out});
  return bias ? builder.linear(name, x, w, builder.weight("b", {out})) : builder.matmul(name, x, w);
}

View norm(GraphBuilder& builder, const std::string& name, const View& x, double eps) {
  const WeightPrefix prefix(builder, name + ".");
  const View gamma = builder.weight("gamma", {x.dims.back()});
  return builder.layernorm(name, x, gamma, builder.weight("beta", {x.dims.back()}), eps);
}

View rms_norm(GraphBuilder& builder, const std::string& name, const View& x, double eps) {
  const WeightPrefix prefix(builder, name + ".");
  return builder.rmsnorm(name, x, builder.weight("gamma", {x.dims.back()}), eps);
}

View conv(GraphBuilder& builder, const std::string& name, const View& image, std::int64_t out, std::int64_t kernel,
          std::int64_t stride, std::int64_t pad) {
  const WeightPrefix prefix(builder, name + ".");
  const View w = builder.weight("w", {out, kernel, kernel, image.dims.back()});
  return builder.conv2d(name, image, w, builder.weight("b", {out}), stride, pad, 1);
}

View image_input(GraphBuilder& builder, std::int64_t batch, std::int64_t size) {
  return builder.input("images", {batch, size, size, 3});
}

View as_tokens(const View& image) {
  return image.as_matrix();
}

View as_image(const View& tokens, std::int64_t batch, std::int64_t side) {
  return tokens.split(0, batch, side * side).split(1, side, side);
}

View mean_tokens(GraphBuilder& builder, const View& tokens, std::int64_t batch) {
  return builder.reduce("mean", tokens.split(0, batch, tokens.dims[0] / batch), Reduce::Kind::kMean);
}

View mlp_block(GraphBuilder& builder, const View& x, std::int64_t width, StepFn activation, double eps) {
  const Part part(builder, "ffn");
  View y = dense(builder, "fc1", norm(builder, "norm", x, eps), width);
  y = builder.activation("act", y, activation);
  return builder.add("residual", x, dense(builder, "fc2", y, x.dims.back()));
}

Residual attention_block(GraphBuilder& builder, const View& x, std::int64_t batch, std::int64_t heads, double eps) {
  const Part part(builder, "mixer");
  MultiHead s;
  s.batch = batch;
  s.tokens = x.dims[0] / batch;
  s.heads = s.kv_heads = heads;
  s.qk_dim = s.v_dim = x.dims.back() / heads;
  s.joint_qkv = s.qkv_bias = s.out_bias = true;
  const View branch = build_multi_head(builder, s, norm(builder, "norm", x, eps));
  return {branch, builder.add("residual", x, branch)};
}

ParamSpec max_depth_param() {
  return {"max_depth", ParamKind::kInteger, "run at most so many blocks of each stage of a model", {}, 1, 1000, {}};
}

std::vector<ParamSpec> image_params() {
  ParamSpec size{"image_size", ParamKind::kInteger, "side of a model's images (as published)", {}, 1, 16384, {}};
  return {size, max_depth_param()};
}

void resolve_image_size(Config& config, std::int64_t published, std::int64_t multiple) {
  if (!config.has("image_size")) {
    config.set("image_size", published);
  }
  const std::int64_t size = config.integer("image_size");
  if (size % multiple != 0) {
    const std::int64_t below = std::max(multiple, size / multiple * multiple);
    throw Error(ErrorKind::kInvalid,
                fmt::format("--image-size {} is no multiple of {}, which {} needs; near it are {} and {}", size,
                            multiple, config.text("model"), below, below + multiple));
  }
}

std::int64_t blocks_of(const Config& config, std::int64_t depth) {
  return std::min(depth, config.integer_or("max_depth", depth));
}

} // namespace attnprof::operators
