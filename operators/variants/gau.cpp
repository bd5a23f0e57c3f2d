#include "operators/layers/gated_unit.hpp"
#include "operators/layers/multi_head.hpp"

#include <cmath>

namespace attnprof::operators {
namespace {

/// o = (u * a v) wo with one head; a = relu(q kᵀ)² scaled, or a softmax (`--weights softmax`).
View build(GraphBuilder& builder, const Config& config, const View& x) {
  const GatedUnit unit = gated_unit(builder, config, x);
  const View q = offset_scale(builder, "q", unit.z);
  const View k = offset_scale(builder, "k", unit.z);
  const Mask mask{config.flag("causal"), 0};
  if (config.text("weights") == "softmax") {
    const double scale = 1.0 / std::sqrt(static_cast<double>(unit.qk_dim));
    return gated_output(builder, unit, build_attention_core(builder, q, k, unit.v, {scale, 0.0, {}, mask}));
  }
  const double factor = squared_relu_factor(config, unit.qk_dim, unit.tokens);
  const View a = squared_relu_weights(builder, q, k, factor, {mask, MatMul::MaskAxes::kRowsColumns});
  return gated_output(builder, unit, builder.matmul("mix", a, unit.v, {mask, MatMul::MaskAxes::kRowsInner}));
}

} // namespace

VariantDescriptor describe_variant_gau() {
  VariantDescriptor out;
  out.name = "gau";
  out.summary =
      "gated attention unit, one head of squared-relu attention inside a gated linear unit (FLASH-Quad's layer)";
  out.source = "Hua et al. 2022, Transformer Quality in Linear Time, eq. 4 and code 1";
  out.params = {"expansion", "qk_dim", "scaling", "causal"};
  out.own_params = {
      {"weights", ParamKind::kChoice, "attention weights of gau", std::string("relu2"), 0, 0, {"relu2", "softmax"}}};
  out.resolve = resolve_gated_unit;
  out.build = build;
  out.samples = {"batch=2:seq_len=5:dim=6:qk_dim=3", "seq_len=6:dim=4:qk_dim=2:expansion=1.5:scaling=n2:causal=true",
                 "seq_len=70:dim=4:qk_dim=2:weights=softmax:causal=true",
                 "seq_len=260:dim=2:qk_dim=1:expansion=1:causal=true"};
  return out;
}

} // namespace attnprof::operators
