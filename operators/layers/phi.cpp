#include "operators/layers/phi.hpp"

#include "operators/layers/depthwise.hpp"
#include "operators/layers/gated_unit.hpp"

#include <cmath>
#include <fmt/format.h>

namespace attnprof::operators {

std::vector<std::string> phi_params() {
  return {"kernel", "expansion", "phi"};
}

std::vector<ParamSpec> phi_own_params() {
  return {{"cls_token", ParamKind::kFlag, "a class token in front of the grid passes phi unchanged", false, 0, 0, {}},
          {"eca_kernel", ParamKind::kInteger, "taps of phi's channel attention", {}, 1, 99, {}}};
}

namespace {

/// The mixer or the FFN of the workload reads the same flag.
bool is_used_elsewhere(const Config& config, std::string_view name) {
  return (config.has("variant") && config.text("layout") != "op" &&
          takes(find_variant(config.text("variant")), name)) ||
         (name == "kernel" && config.has("ffn") && config.text("ffn") == "mlp_dw");
}

} // namespace

void prepare_phi(Config& config, bool reuses_weights) {
  if (!config.has("phi") && !reuses_weights) {
    config.set("phi", std::string("full"));
  }
  if (config.has("phi") && reuses_weights) {
    throw Error(ErrorKind::kInvalid, "--phi does not apply to --reuse weights, which has no phi: leave it out");
  }
  const std::string phi = reuses_weights ? "none" : config.text("phi");
  const auto fill = [&](const char* name, Value value, bool applies) {
    if (applies && !config.has(name)) {
      config.set(name, std::move(value));
    } else if (!applies && config.has(name) && !is_used_elsewhere(config, name)) {
      throw Error(ErrorKind::kInvalid,
                  fmt::format("{} does not apply to {}: leave it out", flag_of(name),
                              reuses_weights ? "--reuse weights, which has no phi" : "--phi " + phi));
    }
  };
  fill("kernel", std::int64_t{5}, phi != "identity" && phi != "none");
  fill("expansion", 2.0, phi == "full");
  fill("eca_kernel", std::int64_t{3}, phi == "full");
}

void resolve_phi(Config& config) {
  const std::string phi = config.text("phi");
  if (phi != "identity") {
    resolve_depthwise(config, "phi");
  }
  if (phi == "full" && (config.integer("eca_kernel") % 2 == 0)) {
    throw Error(ErrorKind::kInvalid, fmt::format("--eca-kernel {} is not odd", config.integer("eca_kernel")));
  }
  if (phi == "full") {
    require_expanded_dim(config);
  }
}

namespace {

/// y * sigmoid(conv1d over channels of the token mean), y [batch, tokens, dim].
View channel_attention(GraphBuilder& builder, std::int64_t kernel, const View& y) {
  const View mean = builder.reduce("eca_mean", y, Reduce::Kind::kMean);
  View gate = builder.channel_conv1d("eca_conv", mean, builder.weight("eca", {kernel}));
  gate = builder.activation("eca_gate", gate, StepFn::kSigmoid);
  return builder.mul("eca_mul", y, gate.broadcast(1, y.dims[1]));
}

View full(GraphBuilder& builder, const Phi& phi, const View& z) {
  const std::int64_t dim = z.dims.back();
  const std::int64_t width = std::llround(phi.expansion * static_cast<double>(dim));
  View y = builder.linear("fc1", z, builder.weight("w1", {dim, width}), builder.weight("b1", {width}));
  y = builder.activation("fc1_act", y, StepFn::kGelu);
  y = builder.activation("dw_act", build_depthwise(builder, phi.grid, phi.kernel, y), StepFn::kGelu);
  const View w2 = builder.weight("w2", {width, dim});
  y = builder.linear("fc2", y, w2, builder.weight("b2", {dim}));
  return channel_attention(builder, phi.eca_kernel, y.split(0, phi.batch, y.dims[0] / phi.batch)).as_matrix();
}

View dense_conv(GraphBuilder& builder, const Phi& phi, const View& z) {
  const std::int64_t dim = z.dims.back();
  const std::int64_t tokens = phi.grid.height * phi.grid.width;
  const View image = z.split(0, z.dims[0] / tokens, tokens).split(1, phi.grid.height, phi.grid.width);
  const View w = builder.weight("w", {dim, phi.kernel, phi.kernel, dim});
  return builder.conv2d("conv", image, w, builder.weight("b", {dim}), 1, phi.kernel / 2, 1).as_matrix();
}

View on_patches(GraphBuilder& builder, const Phi& phi, const View& z) {
  if (phi.kind == "conv") {
    return dense_conv(builder, phi, z);
  }
  return phi.kind == "dwc" ? build_depthwise(builder, phi.grid, phi.kernel, z) : full(builder, phi, z);
}

} // namespace

View build_phi(GraphBuilder& builder, const Phi& phi, const View& z) {
  if (phi.kind == "identity") {
    return z;
  }
  if (!phi.cls_token) {
    return on_patches(builder, phi, z);
  }
  // Frameworks slice the class token off and concatenate it again: two copies of the patch rows.
  const std::int64_t tokens = z.dims[0] / phi.batch;
  const View rows = z.split(0, phi.batch, tokens);
  const View patches = builder.layout_copy("cls_slice", rows.slice(1, 1, tokens - 1)).as_matrix();
  const View mixed = on_patches(builder, phi, patches);
  const View out = builder.temporary(rows.dims);
  builder.copy_into("cls_concat", rows.slice(1, 0, 1), out.slice(1, 0, 1));
  builder.copy_into("patch_concat", mixed.split(0, phi.batch, tokens - 1), out.slice(1, 1, tokens - 1));
  return out.as_matrix();
}

View build_phi(GraphBuilder& builder, const Config& config, const View& z) {
  Phi phi;
  phi.kind = config.text("phi");
  phi.batch = config.integer("batch");
  phi.cls_token = config.flag("cls_token");
  if (phi.kind != "identity") {
    phi.grid = config.grid();
    phi.kernel = config.integer("kernel");
  }
  if (phi.kind == "full") {
    phi.expansion = config.real("expansion");
    phi.eca_kernel = config.integer("eca_kernel");
  }
  return build_phi(builder, phi, z);
}

} // namespace attnprof::operators
