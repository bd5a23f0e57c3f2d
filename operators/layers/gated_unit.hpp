#pragma once
#include "operators/core/registry.hpp"

namespace attnprof::operators {

/// The parts that GAU and FLASH share: expanded value and gate, and the shared representation z from which cheap affine
/// maps make queries and keys. Source: Hua et al. 2022, Transformer Quality in Linear Time, section 3.1.
struct GatedUnit {
  std::int64_t batch = 0, tokens = 0, dim = 0, width = 0, qk_dim = 0;
  View u; ///< [batch * tokens, width]
  View v; ///< [batch, tokens, width]
  View z; ///< [batch, tokens, qk_dim]
};

/// Fills expansion (2), qk_dim (128) and scaling (ns). Throws Error(kInvalid) where no channel is left.
void resolve_gated_unit(Config& config);
std::int64_t expanded_dim(const Config& config);
/// Throws Error(kInvalid) where expansion leaves no channel.
void require_expanded_dim(const Config& config);

/// u = silu(x wu), v = silu(x wv), z = silu(x wz).
GatedUnit gated_unit(GraphBuilder& builder, const Config& config, const View& x);
/// z * gamma + beta with parameters gamma_NAME and beta_NAME of qk_dim each.
View offset_scale(GraphBuilder& builder, const std::string& name, const View& z);
/// relu(q kᵀ)² * factor, masked to zero; q [..., rows, qk_dim], k [..., columns, qk_dim].
View squared_relu_weights(GraphBuilder& builder, const View& q, const View& k, double factor,
                          const GraphBuilder::MatMulOptions& options);
/// (u * mixed) wo with mixed [batch, tokens, width].
View gated_output(GraphBuilder& builder, const GatedUnit& unit, const View& mixed);
/// 1/(n s) or 1/n² for `n` keys.
double squared_relu_factor(const Config& config, std::int64_t qk_dim, std::int64_t n);

} // namespace attnprof::operators
