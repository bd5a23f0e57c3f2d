#pragma once
#include "operators/core/registry.hpp"

namespace attnprof::operators {

/// Lowers the steps of a layout, `depth` times, on x [batch * seq_len, dim]; returns the result in the same shape.
View lower_layout(GraphBuilder& builder, const Config& config, const LayoutDescriptor& layout, const View& x);

} // namespace attnprof::operators
