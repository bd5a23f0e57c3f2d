#pragma once
#include "operators/layers/network.hpp"

namespace attnprof::operators {

/// A convolution without bias and BatchNorm behind it, in inference: either a scale and a shift per channel, or folded
/// into the convolution, which then has a bias. Source: Ioffe and Szegedy 2015, algorithm 2.
struct ConvNorm {
  std::int64_t kernel = 1, stride = 1;
  bool depthwise = false;
  bool folded = false;
  std::optional<std::int64_t> useful_taps = {}; ///< of a depthwise one, where some pixels are padding
};

/// The parameter "folded".
ParamSpec folded_param();

/// x [batch, height, width, in] -> [batch, out_height, out_width, out]; padding of kernel / 2. A 1x1 convolution is a
/// matrix product. A depthwise one keeps its channels.
View conv_norm(GraphBuilder& builder, const std::string& name, const View& x, std::int64_t out,
               const ConvNorm& options);

/// Scale and shift per channel: BatchNorm in inference.
View batch_norm(GraphBuilder& builder, const std::string& name, const View& x);

} // namespace attnprof::operators
