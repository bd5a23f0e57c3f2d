#pragma once
#include "operators/core/registry.hpp"

namespace attnprof::operators {

/// Fills chunk for causal linear attention: 64, never more than seq_len. Throws Error(kInvalid) where it is given
/// without --causal.
void resolve_linear_chunk(Config& config);

/// The chunk of a causal configuration.
std::optional<std::int64_t> chunk_of(const Config& config);

/// Normalised linear attention q (kᵀ v) / (q · sum of k) on features q, k [batch, heads, tokens, features] and values v
/// [batch, heads, tokens, v_dim]. With a chunk it is causal: the masked product inside a chunk, and the prefix sums of
/// the chunks before. Where all features of a query can be 0, `may_vanish` adds 1e-6 to the sums that divide, as the
/// released codes do, so that such a query gives 0. Source: Katharopoulos et al. 2020, Transformers are RNNs, eq. 4
/// to 7.
View build_linear_mix(GraphBuilder& builder, const View& q, const View& k, const View& v,
                      std::optional<std::int64_t> causal_chunk, bool may_vanish = false);

} // namespace attnprof::operators
