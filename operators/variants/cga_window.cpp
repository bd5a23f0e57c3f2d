#include "operators/layers/cascaded_windows.hpp"
#include "operators/layers/conv_norm.hpp"
#include "operators/layers/depthwise.hpp"

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  require_heads_divide(config);
  if (!config.has("qk_dim")) {
    config.set("qk_dim", std::int64_t{16});
  }
  resolve_windows(config);
  config.erase("shift"); // these windows do not move
  resolve_kernel(config, "query_kernel", 5);
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const std::int64_t heads = config.integer("heads");
  return build_cascaded_windows(
      builder,
      {windows_of(config), heads, config.integer("qk_dim"),
       std::vector<std::int64_t>(static_cast<std::size_t>(heads), config.integer("query_kernel")),
       config.flag("folded")},
      x);
}

} // namespace

VariantDescriptor describe_variant_cga_window() {
  VariantDescriptor out;
  out.name = "cga_window";
  out.summary =
      "cascaded group attention as EfficientViT deploys it: windows, offset bias, convolved queries, BatchNorm";
  out.source =
      "Liu et al. 2023, EfficientViT: Memory Efficient Vision Transformer with Cascaded Group Attention, eq. 3 "
      "and 4 and figure 6; windows, bias and norms: the released code";
  out.params = {"heads", "qk_dim", "window"};
  // Not "kernel": that is the depthwise convolution of the sandwich around this mixer.
  out.own_params = {
      {"query_kernel", ParamKind::kInteger, "side of the depthwise convolution on a head's queries", {}, 1, 31, {}},
      folded_param()};
  out.resolve = resolve;
  out.build = build;
  out.samples = {"batch=2:grid=4x4:dim=8:heads=2:qk_dim=3:window=2:query_kernel=3",
                 "grid=3x5:dim=6:heads=3:qk_dim=2:window=2:folded=true", "grid=3x3:dim=4:heads=1:qk_dim=2"};
  return out;
}

} // namespace attnprof::operators
