#pragma once
#include "operators/layers/network.hpp"

namespace attnprof::operators {

/// Attention whose keys and values come from a map that a strided convolution made smaller.
struct SpatialReduction {
  std::int64_t batch = 1, side_rows = 1, side_columns = 1; ///< token map
  std::int64_t extra_tokens = 0;                           ///< class tokens in front; only without a reduction
  std::int64_t heads = 1;
  std::int64_t reduction = 1; ///< side of the convolution and its stride; 1: none, and no norm
  bool biases = true;
};

/// The parameter "reduction".
ParamSpec reduction_param();
/// Fills grid. Throws Error(kInvalid) where heads does not divide dim, or reduction a side of the grid.
void resolve_spatial_reduction(Config& config, const std::string& who);
/// The attention that a resolved configuration describes, without biases.
SpatialReduction spatial_reduction_of(const Config& config);

/// q from x, k and v from norm(conv(x)), out_proj; x [batch * (extra_tokens + rows * columns), dim].
/// Source: Wang et al. 2021, Pyramid Vision Transformer, eq. 1 to 4.
View build_spatial_reduction(GraphBuilder& builder, const SpatialReduction& attention, const View& x);

} // namespace attnprof::operators
