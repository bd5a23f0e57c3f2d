#pragma once
#include "operators/layers/network.hpp"

namespace attnprof::operators {

/// A vision transformer's plain trunk: patches of 16 pixels, learned extra tokens in front, learned positions.
struct PlainTrunk {
  std::int64_t dim = 192, heads = 3, depth = 12, extra_tokens = 1;
};

/// Images [batch, size, size, 3] -> tokens [batch * ((size/16)² + extra_tokens), dim]: patch convolution, class (and
/// distillation) tokens, position table. Source: Dosovitskiy et al. 2021, eq. 1.
View patch_tokens(GraphBuilder& builder, const PlainTrunk& trunk, std::int64_t batch, std::int64_t size);

/// Final norm, then a linear head of 1000 classes on each extra token (on the mean where there is none).
void classify(GraphBuilder& builder, const PlainTrunk& trunk, const View& x, std::int64_t batch);

} // namespace attnprof::operators
