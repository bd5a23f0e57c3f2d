#include "operators/layers/ffn.hpp"
#include "operators/layers/spatial_reduction.hpp"
#include "operators/layers/window_attention.hpp"

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  resolve_head_dim(config);
  resolve_windows(config);
  config.erase("shift"); // the windows of Twins do not move
  resolve_spatial_reduction(config, "twins");
  resolve_ffn(config, 4.0, "gelu");
}

View local(GraphBuilder& builder, const Config& config, const View& x) {
  return build_window_attention(
      builder, {windows_of(config), config.integer("heads"), config.integer("head_dim"), false, false}, x);
}

View global(GraphBuilder& builder, const Config& config, const View& x) {
  return build_spatial_reduction(builder, spatial_reduction_of(config), x);
}

std::vector<LayoutStep> steps(const Config& /*config*/, std::int64_t /*block*/) {
  using Kind = LayoutStep::Kind;
  return {{Kind::kMixer, "local_mixer", "local.", "ln1.", true, local},
          {Kind::kFfn, "local_ffn", "local_ffn.", "ln2.", true, nullptr},
          {Kind::kMixer, "global_mixer", "global.", "ln3.", true, global},
          {Kind::kFfn, "global_ffn", "global_ffn.", "ln4.", true, nullptr}};
}

} // namespace

LayoutDescriptor describe_layout_twins() {
  LayoutDescriptor out;
  out.name = "twins";
  out.summary = "pairs of blocks: attention in windows, then attention on a sub-sampled map of all tokens";
  out.source = "Chu et al. 2021, Twins: Revisiting the Design of Spatial Attention in Vision Transformers, eq. 5";
  out.params = ffn_params();
  out.params.insert(out.params.end(), {"heads", "head_dim", "window", "kernel", "depth"});
  out.own_params = {reduction_param()};
  out.takes_variant = false;
  out.resolve = resolve;
  out.steps = steps;
  out.samples = {"grid=4x4:dim=8:heads=2:window=2:reduction=2:mlp_ratio=1",
                 "grid=4x6:dim=4:heads=1:window=3:reduction=2:depth=2:mlp_ratio=2:batch=2"};
  return out;
}

} // namespace attnprof::operators
