#include "operators/kernels/gpu/own_name.hpp"

#include "operators/core/op.hpp"

#include <fmt/format.h>

namespace attnprof::operators::gpu {
namespace {

std::string name_of(const RowsArgs& args) {
  const char* wide = args.wide ? " x8" : "";
  switch (args.kind) {
  case RowsArgs::Kind::kSoftmax: return fmt::format("softmax{}", wide);
  case RowsArgs::Kind::kLayerNorm: return fmt::format("layernorm{}", wide);
  case RowsArgs::Kind::kRmsNorm: return fmt::format("rmsnorm{}", wide);
  }
  return "rows";
}

std::string name_of(const ConvArgs& args) {
  switch (args.kind) {
  case ConvArgs::Kind::kDepthwise: return "depthwise";
  case ConvArgs::Kind::kDense: return "conv";
  case ConvArgs::Kind::kPool: return "pool";
  }
  return "conv";
}

std::string name_of(const ElementwiseArgs& args) {
  std::string steps;
  for (int i = 0; i < args.steps.count; ++i) {
    steps += fmt::format("{}{}", steps.empty() ? "" : "+", step_traits(args.steps.steps[i].fn).name);
  }
  return fmt::format("{}{}", steps.empty() ? "copy" : steps, args.wide ? " x8" : "");
}
std::string name_of(const RopeArgs& args) {
  return args.wide ? "rope x8" : "rope";
}
std::string name_of(const GatherArgs& args) {
  return args.wide ? "gather x8" : "gather";
}

std::string name_of(const AttentionArgs& args) {
  return fmt::format("{}attention {} {}x{}{}{}", args.squared_relu ? "relu2 " : "", args.tensor_cores ? "mma" : "fma",
                     args.tile_rows, args.tile_keys, args.stages > 1 ? " double" : "",
                     args.splits > 1 ? fmt::format(", {} splits", args.splits) : "");
}

} // namespace

std::string own_name(const LaunchArgs& args) {
  return "own " +
         std::visit(Overloaded{[](const TransposeArgs&) { return std::string("transpose"); },
                               [](const ReduceArgs&) { return std::string("reduce"); },
                               [](const CumSumArgs&) { return std::string("cumsum"); },
                               [](const ChannelConvArgs&) { return std::string("channel_conv1d"); },
                               [](const ProductArgs& product) {
                                 return std::string(product.tf32 ? "product fma 32x32 of tf32" : "product fma 32x32");
                               },
                               [](const auto& one) { return name_of(one); }},
                    args);
}

} // namespace attnprof::operators::gpu
