#include "operators/layers/multi_head.hpp"
#include "operators/layers/window_attention.hpp"

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  resolve_head_dim(config);
  resolve_windows(config);
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  return build_window_attention(
      builder, {windows_of(config), config.integer("heads"), config.integer("head_dim"), true, false}, x);
}

} // namespace

VariantDescriptor describe_variant_window() {
  VariantDescriptor out;
  out.name = "window";
  out.summary =
      "attention inside square windows with a relative position bias, shifted or not; padding is executed, not useful";
  out.source =
      "Liu et al. 2021, Swin Transformer: Hierarchical Vision Transformer using Shifted Windows, eq. 4 and figure 4";
  out.params = {"heads", "head_dim", "window", "shift"};
  out.resolve = resolve;
  out.build = build;
  out.samples = {"batch=2:grid=4x4:dim=8:heads=2:window=2", "batch=2:grid=4x6:dim=8:heads=2:window=2:shift=1",
                 "grid=3x5:dim=8:heads=2:window=2", "grid=5x3:dim=8:heads=2:window=3:shift=1",
                 "grid=4x4:dim=8:heads=2:window=7"};
  out.in_default_sweep = true;
  return out;
}

} // namespace attnprof::operators
