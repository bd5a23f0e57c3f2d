#include "operators/layers/gated_unit.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  resolve_gated_unit(config);
  if (!config.has("chunk")) {
    config.set("chunk", std::int64_t{256});
  }
  // A chunk is never longer than the sequence: nothing would fill it.
  config.set("chunk", std::min(config.integer("chunk"), config.integer("seq_len")));
}

/// Attended pairs of real tokens inside the chunks of one sequence.
std::int64_t real_pairs(std::int64_t tokens, std::int64_t chunk, const Mask& mask) {
  const std::int64_t rest = tokens % chunk;
  return (Count(tokens / chunk) * attended_pairs(mask, chunk, chunk) + attended_pairs(mask, rest, rest)).value();
}

struct Chunks {
  std::int64_t count, size, padded;
};

/// [batch, tokens, c] -> [batch, chunks, size, c], zero rows at the end.
View chunked(GraphBuilder& builder, const std::string& leaf, const View& x, const Chunks& chunks) {
  return builder.pad_rows(leaf, x, chunks.padded).split(1, chunks.count, chunks.size);
}

View local_part(GraphBuilder& builder, const Config& config, const View& z, const View& v, const Chunks& chunks) {
  const View q = offset_scale(builder, "q_quad", z);
  const View k = offset_scale(builder, "k_quad", z);
  const Mask mask{config.flag("causal"), 0};
  const std::int64_t pairs =
      (Count(config.integer("batch")) * real_pairs(config.integer("seq_len"), chunks.size, mask)).value();
  const View a = squared_relu_weights(builder, q, k, squared_relu_factor(config, chunks.size),
                                      {mask, MatMul::MaskAxes::kRowsColumns, pairs});
  return builder.matmul("mix", a, v, {mask, MatMul::MaskAxes::kRowsInner, pairs});
}

/// q_lin (sum over all tokens of k_linᵀ v) / n.
View global_part(GraphBuilder& builder, const View& q, const View& k, const View& v, std::int64_t real) {
  const auto flat = [](const View& x) { return x.merge(1); };
  const std::int64_t tokens = real * q.dims[0];
  const View kv = builder.matmul("lin_kv", flat(k).transpose(1, 2), flat(v), {{}, MatMul::MaskAxes::kInner, tokens});
  const View out = builder.matmul("lin_mix", flat(q), kv, {{}, MatMul::MaskAxes::kRows, tokens});
  return builder.scale("lin_scale", out, 1.0 / static_cast<double>(real)).split(1, q.dims[1], q.dims[2]);
}

/// Chunk g reads the sum over the chunks before it, divided by their (g - 1) c tokens; the first has no linear term.
View causal_global_part(GraphBuilder& builder, const View& q, const View& k, const View& v, std::int64_t real,
                        const Chunks& chunks) {
  const std::int64_t tokens = real * q.dims[0];
  const View kv = builder.matmul("lin_kv", k.transpose(2, 3), v, {{}, MatMul::MaskAxes::kInner, tokens});
  const View sums = builder.cumsum("lin_cumsum", kv.merge(2)).split(2, kv.dims[2], kv.dims[3]);
  std::vector<float> factors = constant_values("the list of chunks", chunks.count);
  factors.resize(static_cast<std::size_t>(chunks.count), 0.0F);
  for (std::int64_t g = 1; g < chunks.count; ++g) {
    factors[static_cast<std::size_t>(g)] = 1.0F / static_cast<float>(g * chunks.size);
  }
  const View factor = builder.constant(fmt::format("chunk_factors_{}_{}", chunks.count, chunks.size), {chunks.count},
                                       std::move(factors));
  const View per_chunk = factor.broadcast(1, kv.dims[2]).broadcast(2, kv.dims[3]).broadcast(0, kv.dims[0]);
  const View mean = builder.mul("lin_scale", sums, per_chunk);
  return builder.matmul("lin_mix", q, mean, {{}, MatMul::MaskAxes::kRows, tokens});
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const GatedUnit unit = gated_unit(builder, config, x);
  const std::int64_t size = config.integer("chunk");
  const Chunks chunks{ceil_div(unit.tokens, size), size, round_up(unit.tokens, size)};
  const View z = chunked(builder, "z_pad", unit.z, chunks);
  const View v = chunked(builder, "v_pad", unit.v, chunks);
  const View local = local_part(builder, config, z, v, chunks);
  const View q = offset_scale(builder, "q_lin", z);
  const View k = offset_scale(builder, "k_lin", z);
  const View global = config.flag("causal") ? causal_global_part(builder, q, k, v, unit.tokens, chunks)
                                            : global_part(builder, q, k, v, unit.tokens);
  const View mixed = builder.add("lin_add", local, global).merge(1);
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
