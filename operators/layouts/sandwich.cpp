#include "operators/layers/depthwise.hpp"
#include "operators/layers/ffn.hpp"

#include <fmt/format.h>

namespace attnprof::operators {
namespace {

/// One side: n_ffn times a depthwise convolution and an FFN.
void add_side(std::vector<LayoutStep>& steps, const std::string& side, std::int64_t n_ffn) {
  for (std::int64_t i = 0; i < n_ffn; ++i) {
    const std::string scope = fmt::format("{}{}", side, i);
    const std::string prefix = fmt::format("{}.{}.", side, i);
    steps.push_back({LayoutStep::Kind::kDepthwiseConv2d, scope + "_dw", prefix, "", true});
    steps.push_back({LayoutStep::Kind::kFfn, scope + "_ffn", prefix, "", true});
  }
}

} // namespace

LayoutDescriptor describe_layout_sandwich() {
  LayoutDescriptor out;
  out.name = "sandwich";
  out.summary = "one mixer between n_ffn FFNs on each side, each FFN behind a depthwise convolution";
  out.source =
      "Liu et al. 2023, EfficientViT: Memory Efficient Vision Transformer with Cascaded Group Attention, eq. 1";
  out.params = ffn_params();
  out.params.insert(out.params.end(), {"kernel", "n_ffn", "depth"});
  out.resolve = [](Config& config) {
    resolve_ffn(config, 2.0, "relu", true);
    resolve_depthwise(config, "--layout sandwich");
  };
  out.steps = [](const Config& config, std::int64_t) {
    std::vector<LayoutStep> steps;
    add_side(steps, "pre", config.integer("n_ffn"));
    steps.push_back({LayoutStep::Kind::kMixer, "mixer", "attn.", "", true});
    add_side(steps, "post", config.integer("n_ffn"));
    return steps;
  };
  out.samples = {"n_ffn=1", "n_ffn=2:depth=2:kernel=5"};
  out.in_default_sweep = true;
  return out;
}

} // namespace attnprof::operators
