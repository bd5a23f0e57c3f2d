#include "operators/layers/ffn.hpp"

#include "operators/layers/depthwise.hpp"

#include <cmath>
#include <fmt/format.h>

namespace attnprof::operators {

std::vector<std::string> ffn_params() {
  return {"ffn", "mlp_ratio", "ffn_dim", "activation"};
}

void resolve_ffn(Config& config, double default_ratio, const std::string& default_activation, bool kernel_has_use) {
  if (!config.has("ffn")) {
    config.set("ffn", std::string("mlp"));
  }
  if (config.has("mlp_ratio") && config.has("ffn_dim")) {
    const double wanted = config.real("mlp_ratio") * static_cast<double>(config.integer("dim"));
    if (std::llround(wanted) != config.integer("ffn_dim")) {
      throw Error(ErrorKind::kInvalid,
                  fmt::format("--ffn-dim {} contradicts --mlp-ratio {} at --dim {}: give one of them",
                              config.integer("ffn_dim"), config.real("mlp_ratio"), config.integer("dim")));
    }
  }
  if (!config.has("ffn_dim")) {
    const double ratio = config.has("mlp_ratio") ? config.real("mlp_ratio") : default_ratio;
    config.set("mlp_ratio", ratio);
    const double width = ratio * static_cast<double>(config.integer("dim"));
    if (width < 0.5) {
      throw Error(ErrorKind::kInvalid,
                  fmt::format("--mlp-ratio {} leaves no FFN channel at --dim {}", ratio, config.integer("dim")));
    }
    config.set("ffn_dim", static_cast<std::int64_t>(std::llround(width)));
  }
  const std::string kind = config.text("ffn");
  const bool has_activation = kind == "mlp" || kind == "mlp_dw";
  if (!has_activation && config.has("activation")) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("--activation {} does not apply to --ffn {}, which is gated by silu: leave it out",
                            config.text("activation"), kind));
  }
  if (has_activation && !config.has("activation")) {
    config.set("activation", default_activation);
  }
  if (kind == "mlp_dw") {
    refuse_cls_token(config, "--ffn mlp_dw");
    resolve_depthwise(config, "--ffn mlp_dw");
  } else if (config.has("kernel") && !kernel_has_use &&
             !(config.has("variant") && takes(find_variant(config.text("variant")), "kernel"))) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("--kernel {} does not apply to --ffn {}, which has no convolution: leave it out",
                            config.integer("kernel"), kind));
  }
}

StepFn activation_from_name(const std::string& name) {
  if (name == "relu") {
    return StepFn::kRelu;
  }
  return name == "silu" ? StepFn::kSilu : StepFn::kGelu;
}

namespace {

View build_mlp(GraphBuilder& builder, const Config& config, const View& x, bool depthwise) {
  const std::int64_t dim = x.dims.back();
  const std::int64_t width = config.integer("ffn_dim");
  const StepFn act = activation_from_name(config.text("activation"));
  const View w1 = builder.weight("w1", {dim, width});
  View y = builder.linear("fc1", x, w1, builder.weight("b1", {width}));
  y = builder.activation("act", y, act);
  if (depthwise) {
    y = builder.activation("dw_act", build_depthwise(builder, config, y), act);
  }
  const View w2 = builder.weight("w2", {width, dim});
  return builder.linear("fc2", y, w2, builder.weight("b2", {dim}));
}

View build_gated(GraphBuilder& builder, const Config& config, const View& x, bool gate_both) {
  const std::int64_t dim = x.dims.back();
  const std::int64_t width = config.integer("ffn_dim");
  const View u =
      builder.activation("u_act", builder.matmul("u_proj", x, builder.weight("wu", {dim, width})), StepFn::kSilu);
  View v = builder.matmul("v_proj", x, builder.weight("wv", {dim, width}));
  if (gate_both) {
    v = builder.activation("v_act", v, StepFn::kSilu);
  }
  return builder.matmul("out_proj", builder.mul("gate", u, v), builder.weight("wo", {width, dim}));
}

} // namespace

View build_ffn(GraphBuilder& builder, const Config& config, const View& x) {
  const std::string& kind = config.text("ffn");
  if (kind == "glu" || kind == "swiglu") {
    return build_gated(builder, config, x, kind == "glu");
  }
  return build_mlp(builder, config, x, kind == "mlp_dw");
}

} // namespace attnprof::operators
