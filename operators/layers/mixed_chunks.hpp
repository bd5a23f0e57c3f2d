#pragma once
#include "operators/layers/gated_unit.hpp"

namespace attnprof::operators {

/// Fills chunk (256, never more than seq_len).
void resolve_mixed_chunks(Config& config);

/// A sequence cut into chunks of equal size, zero rows at its end.
struct MixedChunks {
  std::int64_t batch = 1, tokens = 1, size = 1;
  Mask mask;
  double factor = 1.0; ///< of the squared-relu weights inside a chunk
  [[nodiscard]] std::int64_t count() const { return ceil_div(tokens, size); }
};

/// [batch, tokens, c] -> [batch, count, size, c].
View chunked(GraphBuilder& builder, const std::string& leaf, const View& x, const MixedChunks& chunks);

/// Queries and keys of the two parts, [batch, count, size, qk_dim].
struct ChunkRoles {
  View q_local, k_local, q_linear, k_linear;
};

/// Squared-relu attention inside each chunk plus linear attention over all tokens, or over the chunks before where the
/// mask is causal; v [batch, count, size, width], the result too.
/// Source: Hua et al. 2022, Transformer Quality in Linear Time, eq. 5 to 7.
View build_mixed_chunks(GraphBuilder& builder, const MixedChunks& chunks, const ChunkRoles& roles, const View& v);

} // namespace attnprof::operators
