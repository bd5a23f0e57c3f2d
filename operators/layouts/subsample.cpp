#include "operators/layers/cascade_block.hpp"
#include "operators/layers/depthwise.hpp"

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  resolve_token_map(config, "--layout subsample");
  if (!config.has("out_dim")) {
    config.set("out_dim", (Count(config.integer("dim")) * 2).value());
  }
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const Grid grid = config.grid();
  const View map = x.split(0, config.integer("batch"), grid.height * grid.width).split(1, grid.height, grid.width);
  return as_tokens(subsample(builder, map, config.integer("out_dim"), config.flag("folded")));
}

} // namespace

LayoutDescriptor describe_layout_subsample() {
  LayoutDescriptor out;
  out.name = "subsample";
  out.summary = "halves a token map: inverted residual with squeeze-excite between depthwise convolutions and FFNs";
  out.source = "Liu et al. 2023, EfficientViT: Memory Efficient Vision Transformer with Cascaded Group Attention, "
               "section 3.2; the wiring of the released code";
  out.takes_variant = false;
  out.own_params = {
      {"out_dim", ParamKind::kInteger, "channels behind the sub-sampling (2 dim)", {}, 1, 4'000'000'000, {}},
      folded_param()};
  out.resolve = resolve;
  out.steps = [](const Config&, std::int64_t) {
    return std::vector<LayoutStep>{{LayoutStep::Kind::kMixer, "subsample", "", "", false, build}};
  };
  out.samples = {"batch=2:grid=2x4:dim=6:out_dim=5", "grid=3x3:dim=8:folded=true"};
  return out;
}

} // namespace attnprof::operators
