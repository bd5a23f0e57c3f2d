#include "operators/layers/mixed_chunks.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::operators {

void resolve_mixed_chunks(Config& config) {
  if (!config.has("chunk")) {
    config.set("chunk", std::int64_t{256});
  }
  // A chunk is never longer than the sequence: nothing would fill it.
  config.set("chunk", std::min(config.integer("chunk"), config.integer("seq_len")));
}

View chunked(GraphBuilder& builder, const std::string& leaf, const View& x, const MixedChunks& chunks) {
  return builder.pad_rows(leaf, x, chunks.count() * chunks.size).split(1, chunks.count(), chunks.size);
}

namespace {

/// Attended pairs of real tokens inside the chunks of all sequences.
std::int64_t real_pairs(const MixedChunks& p) {
  const std::int64_t rest = p.tokens % p.size;
  const Count one =
      Count(p.tokens / p.size) * attended_pairs(p.mask, p.size, p.size) + attended_pairs(p.mask, rest, rest);
  return (one * p.batch).value();
}

View local_part(GraphBuilder& builder, const MixedChunks& p, const ChunkRoles& roles, const View& v) {
  const std::int64_t pairs = real_pairs(p);
  const View a = squared_relu_weights(builder, roles.q_local, roles.k_local, p.factor,
                                      {p.mask, MatMul::MaskAxes::kRowsColumns, pairs});
  return builder.matmul("mix", a, v, {p.mask, MatMul::MaskAxes::kRowsInner, pairs});
}

/// q_lin (sum over all tokens of k_linᵀ v) / n.
View global_part(GraphBuilder& builder, const View& q, const View& k, const View& v, const MixedChunks& p) {
  const auto flat = [](const View& x) { return x.merge(1); };
  const std::int64_t tokens = p.tokens * q.dims[0];
  const View kv = builder.matmul("lin_kv", flat(k).transpose(1, 2), flat(v), {{}, MatMul::MaskAxes::kInner, tokens});
  const View out = builder.matmul("lin_mix", flat(q), kv, {{}, MatMul::MaskAxes::kRows, tokens});
  return builder.scale("lin_scale", out, 1.0 / static_cast<double>(p.tokens)).split(1, q.dims[1], q.dims[2]);
}

/// Chunk g reads the sum over the chunks before it, divided by their (g - 1) c tokens; the first has no linear term.
View causal_global_part(GraphBuilder& builder, const View& q, const View& k, const View& v, const MixedChunks& p) {
  const std::int64_t tokens = p.tokens * q.dims[0];
  const View kv = builder.matmul("lin_kv", k.transpose(2, 3), v, {{}, MatMul::MaskAxes::kInner, tokens});
  const View sums = builder.cumsum("lin_cumsum", kv.merge(2)).split(2, kv.dims[2], kv.dims[3]);
  const auto make = [&] {
    GraphBuilder::Values factors = constant_values(p.count());
    for (std::int64_t g = 0; factors && g < p.count(); ++g) {
      factors->push_back(g == 0 ? 0.0F : 1.0F / static_cast<float>(g * p.size));
    }
    return factors;
  };
  const View factor = builder.constant(fmt::format("chunk_factors_{}_{}", p.count(), p.size), {p.count()}, make);
  const View per_chunk = factor.broadcast(1, kv.dims[2]).broadcast(2, kv.dims[3]).broadcast(0, kv.dims[0]);
  const View mean = builder.mul("lin_scale", sums, per_chunk);
  return builder.matmul("lin_mix", q, mean, {{}, MatMul::MaskAxes::kRows, tokens});
}

} // namespace

View build_mixed_chunks(GraphBuilder& builder, const MixedChunks& chunks, const ChunkRoles& roles, const View& v) {
  const View local = local_part(builder, chunks, roles, v);
  const View global = chunks.mask.causal ? causal_global_part(builder, roles.q_linear, roles.k_linear, v, chunks)
                                         : global_part(builder, roles.q_linear, roles.k_linear, v, chunks);
  return builder.add("lin_add", local, global);
}

} // namespace attnprof::operators
