#pragma once
#include "operators/core/uses.hpp"

namespace attnprof::operators {

/// Replaces each chain scores -> (scale, bias, mask) -> softmax -> mix, or scores -> relu -> square -> scale (-> mask)
/// -> mix, by one Attention op in scope ".../attention".
void fuse_attention_cores(Rewriting& ops);

} // namespace attnprof::operators
