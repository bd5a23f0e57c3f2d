#include "operators/layers/heads.hpp"
#include "operators/layers/mixed_chunks.hpp"
#include "operators/layers/multi_head.hpp"

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  resolve_head_dim(config);
  resolve_mixed_chunks(config);
  if (!config.has("scaling")) {
    config.set("scaling", std::string("ns"));
  }
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const View q = project_heads_of(builder, config, "q", x);
  const View k = project_heads_of(builder, config, "k", x);
  const View v = project_heads_of(builder, config, "v", x);
  // Heads are so many more sequences.
  MixedChunks chunks{q.dims[0] * q.dims[1], q.dims[2], config.integer("chunk"), {config.flag("causal"), 0}, 1.0};
  chunks.factor = squared_relu_factor(config, q.dims[3], chunks.size);
  const View qc = chunked(builder, "q_pad", q.merge(0), chunks);
  const View kc = chunked(builder, "k_pad", k.merge(0), chunks);
  const View vc = chunked(builder, "v_pad", v.merge(0), chunks);
  const View mixed = build_mixed_chunks(builder, chunks, {qc, kc, qc, kc}, vc).merge(1).slice(1, 0, chunks.tokens);
  return merge_heads(builder, mixed.split(0, q.dims[0], q.dims[1]), x.dims.back());
}

} // namespace

VariantDescriptor describe_variant_mixed_chunk() {
  VariantDescriptor out;
  out.name = "mixed_chunk";
  out.summary = "mixed chunk attention on ordinary heads (MC-TFM is the standard layout with it)";
  out.source = "Hua et al. 2022, Transformer Quality in Linear Time, section 4.1 (MC-TFM) and eq. 5 to 7";
  out.params = {"heads", "head_dim", "scaling", "chunk", "causal"};
  out.resolve = resolve;
  out.build = build;
  out.samples = {"batch=2:seq_len=8:dim=6:heads=2:chunk=4", "seq_len=9:dim=4:heads=2:chunk=4:causal=true"};
  return out;
}

} // namespace attnprof::operators
