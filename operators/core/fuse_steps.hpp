#pragma once
#include "operators/core/uses.hpp"

namespace attnprof::operators {

/// Makes element-wise ops epilogues of the matrix product, convolution or element-wise op in front of them, as long as
/// that op's result has no other reader.
void fuse_steps(Rewriting& ops);

} // namespace attnprof::operators
