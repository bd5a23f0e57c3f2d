#include "operators/layers/gated_unit.hpp"

#include <cmath>
#include <fmt/format.h>

namespace attnprof::operators {

std::int64_t expanded_dim(const Config& config) {
  return std::llround(config.real("expansion") * static_cast<double>(config.integer("dim")));
}

void require_expanded_dim(const Config& config) {
  if (expanded_dim(config) < 1) {
    throw Error(ErrorKind::kInvalid, fmt::format("--expansion {} leaves no channel at --dim {}",
                                                 config.real("expansion"), config.integer("dim")));
  }
}

void resolve_gated_unit(Config& config) {
  if (!config.has("expansion")) {
    config.set("expansion", 2.0);
  }
  if (!config.has("qk_dim")) {
    config.set("qk_dim", std::int64_t{128});
  }
  if (!config.has("scaling")) {
    config.set("scaling", std::string("ns"));
  }
  require_expanded_dim(config);
}

GatedUnit gated_unit(GraphBuilder& builder, const Config& config, const View& x) {
  GatedUnit unit;
  unit.batch = config.integer("batch");
  unit.dim = x.dims.back();
  unit.tokens = x.dims[0] / unit.batch;
  unit.width = expanded_dim(config);
  unit.qk_dim = config.integer("qk_dim");
  const auto project = [&](const char* leaf, const char* act, const char* weight, std::int64_t width) {
    return builder.activation(act, builder.matmul(leaf, x, builder.weight(weight, {unit.dim, width})), StepFn::kSilu);
  };
  unit.u = project("u_proj", "u_act", "wu", unit.width);
  unit.v = project("v_proj", "v_act", "wv", unit.width).split(0, unit.batch, unit.tokens);
  unit.z = project("z_proj", "z_act", "wz", unit.qk_dim).split(0, unit.batch, unit.tokens);
  return unit;
}

View offset_scale(GraphBuilder& builder, const std::string& name, const View& z) {
  const auto rows = [&](const std::string& weight) { return each_row(builder.weight(weight, {z.dims.back()}), z); };
  const View scaled = builder.mul(name + "_scale", z, rows("gamma_" + name));
  return builder.add(name + "_offset", scaled, rows("beta_" + name));
}

View squared_relu_weights(GraphBuilder& builder, const View& q, const View& k, double factor,
                          const GraphBuilder::MatMulOptions& options) {
  View scores = builder.matmul("scores", q, k.transpose(k.rank() - 2, k.rank() - 1), options);
  scores = builder.activation("relu", scores, StepFn::kRelu);
  scores = builder.activation("square", scores, StepFn::kSquare);
  scores = builder.scale("scale", scores, factor);
  return options.mask.any() ? builder.pointwise("mask", scores, {StepFn::kMaskZero, 0.0, {}, options.mask}) : scores;
}

View gated_output(GraphBuilder& builder, const GatedUnit& unit, const View& mixed) {
  const View gated = builder.mul("gate", unit.u.split(0, unit.batch, unit.tokens), mixed);
  return builder.matmul("out_proj", gated.as_matrix(), builder.weight("wo", {unit.width, unit.dim}));
}

double squared_relu_factor(const Config& config, std::int64_t qk_dim, std::int64_t n) {
  const auto length = static_cast<double>(n);
  return config.text("scaling") == "n2" ? 1.0 / (length * length) : 1.0 / (length * static_cast<double>(qk_dim));
}

} // namespace attnprof::operators
