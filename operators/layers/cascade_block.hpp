#pragma once
#include "operators/layers/cascaded_windows.hpp"
#include "operators/layers/conv_norm.hpp"

#include <vector>

namespace attnprof::operators {

/// One stage of EfficientViT: sandwich blocks of depthwise convolutions, FFNs of ratio 2 and cascaded group attention
/// in windows. Source: Liu et al. 2023, EfficientViT, section 3.1; the wiring of the released code.
struct CascadeStage {
  std::int64_t batch = 1, side = 1; ///< of the token map
  std::int64_t dim = 0, heads = 0, qk_dim = 16;
  std::vector<std::int64_t> query_kernels; ///< of the depthwise convolution on head j's queries
  std::int64_t window = 7;
  bool folded = false; ///< BatchNorm
};

/// x + dwconv(x), x + ffn(x), x + attention(x), x + dwconv(x), x + ffn(x); x [batch, side, side, dim].
View cascade_block(GraphBuilder& builder, const CascadeStage& stage, View x);

/// x [batch, height, width, c]: [residual dwconv and FFN], the halving of the map to `dim` channels (1x1, ReLU,
/// depthwise 3x3 with stride 2, ReLU, squeeze-excite, 1x1), [residual dwconv and FFN].
View subsample(GraphBuilder& builder, View x, std::int64_t dim, bool folded);

/// Overlapping patches: four 3x3 convolutions of stride 2, ReLU between them; [batch, height, width, 3] ->
/// [batch, height/16, width/16, dim].
View overlapping_patches(GraphBuilder& builder, const View& images, std::int64_t dim, bool folded);

} // namespace attnprof::operators
