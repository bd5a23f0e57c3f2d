#include "operators/layers/gated_unit.hpp"
#include "operators/layers/mixed_chunks.hpp"

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  resolve_gated_unit(config);
  resolve_mixed_chunks(config);
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const GatedUnit unit = gated_unit(builder, config, x);
  MixedChunks chunks{unit.batch, unit.tokens, config.integer("chunk"), {config.flag("causal"), 0}, 1.0};
  chunks.factor = squared_relu_factor(config, unit.qk_dim, chunks.size);
  const View z = chunked(builder, "z_pad", unit.z, chunks);
  const View v = chunked(builder, "v_pad", unit.v, chunks);
  const View q_local = offset_scale(builder, "q_quad", z);
  const View k_local = offset_scale(builder, "k_quad", z);
  const View q_linear = offset_scale(builder, "q_lin", z);
  const View k_linear = offset_scale(builder, "k_lin", z);
  const View mixed = build_mixed_chunks(builder, chunks, {q_local, k_local, q_linear, k_linear}, v).merge(1);
  return gated_output(builder, unit, mixed.slice(1, 0, unit.tokens));
}

} // namespace

VariantDescriptor describe_variant_flash() {
  VariantDescriptor out;
  out.name = "flash";
  out.summary = "mixed chunk attention, squared-relu attention inside chunks and linear attention across them";
  out.source = "Hua et al. 2022, Transformer Quality in Linear Time, eq. 5 to 7";
  out.params = {"expansion", "qk_dim", "scaling", "chunk", "causal"};
  out.resolve = resolve;
  out.build = build;
  out.samples = {"batch=2:seq_len=8:dim=6:qk_dim=3:chunk=4", "seq_len=9:dim=4:qk_dim=2:chunk=4:causal=true",
                 "seq_len=5:dim=4:qk_dim=2:causal=true:scaling=n2", "seq_len=7:dim=4:qk_dim=2:chunk=3"};
  return out;
}

} // namespace attnprof::operators
