#pragma once
#include "operators/core/graph.hpp"

namespace attnprof::operators {

/// The launch list of the eager plan: the graph as it was built.
/// The launch list of the fused plan: a pass over the op list that replaces each attention core by one Attention op,
/// makes bias, activation, gate and residual epilogues of the op in front, merges chains of element-wise ops, and lets
/// neighbours of a layout copy access memory with strides instead.
Graph fuse(Graph graph);

/// `plan` is "eager" or "fused".
Graph plan_launches(Graph graph, std::string_view plan);

/// Tile sizes of the fused attention core: a function of the shape alone, so counts are equal on every machine.
Tiles attention_tiles(std::int64_t n_q, std::int64_t n_k, std::int64_t qk_dim, std::int64_t v_dim, bool masked = false);

} // namespace attnprof::operators
