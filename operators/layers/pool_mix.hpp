#pragma once
#include "operators/core/builder.hpp"

namespace attnprof::operators {

/// mean over the kernel's neighbourhood minus x, x [batch, height, width, channels]; taps outside the map are no part
/// of the mean. Source: Yu et al. 2022, MetaFormer Is Actually What You Need for Vision, eq. 4.
View build_pool_mix(GraphBuilder& builder, const View& x, std::int64_t kernel);

} // namespace attnprof::operators
