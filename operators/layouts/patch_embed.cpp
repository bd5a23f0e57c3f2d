#include "operators/layers/cascade_block.hpp"
#include "operators/layers/depthwise.hpp"

#include <fmt/format.h>

namespace attnprof::operators {
namespace {

constexpr std::int64_t kPatch = 16;

bool overlaps(const Config& config) {
  return config.text("patches") == "overlapping";
}

void resolve(Config& config) {
  resolve_token_map(config, "--layout patch_embed");
  if (overlaps(config) && config.integer("dim") % 8 != 0) {
    throw Error(
        ErrorKind::kInvalid,
        fmt::format("overlapping patches double their channels three times up to --dim, and {} is not divisible "
                    "by 8",
                    config.integer("dim")));
  }
  if (!overlaps(config) && config.flag("folded")) {
    throw Error(ErrorKind::kInvalid,
                "--folded does not apply to --patches plain, which has no BatchNorm: leave it out");
  }
}

Extents image_of(const Config& config) {
  const Grid grid = config.grid();
  return {config.integer("batch"), (Count(grid.height) * kPatch).value(), (Count(grid.width) * kPatch).value(), 3};
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const Extents dims = image_of(config);
  const View images = x.split(0, dims[0], dims[1] * dims[2]).split(1, dims[1], dims[2]);
  const std::int64_t dim = config.integer("dim");
  if (overlaps(config)) {
    return as_tokens(overlapping_patches(builder, images, dim, config.flag("folded")));
  }
  return as_tokens(conv(builder, "patches", images, dim, kPatch, kPatch, 0));
}

} // namespace

LayoutDescriptor describe_layout_patch_embed() {
  LayoutDescriptor out;
  out.name = "patch_embed";
  out.summary = "images to tokens of 16x16 pixels: one convolution, or four overlapping ones of stride 2";
  out.source = "Dosovitskiy et al. 2021, An Image is Worth 16x16 Words, eq. 1; Liu et al. 2023, EfficientViT: Memory "
               "Efficient Vision Transformer with Cascaded Group Attention, section 3.2";
  out.takes_variant = false;
  out.own_params = {
      {"patches", ParamKind::kChoice, "plain or overlapping", std::string("plain"), 0, 0, {"plain", "overlapping"}},
      folded_param()};
  out.resolve = resolve;
  out.input = image_of;
  out.steps = [](const Config&, std::int64_t) {
    return std::vector<LayoutStep>{{LayoutStep::Kind::kMixer, "embed", "", "", false, build}};
  };
  out.samples = {"batch=2:grid=2x1:dim=4", "grid=1x2:dim=8:patches=overlapping",
                 "grid=1x1:dim=8:patches=overlapping:folded=true"};
  return out;
}

} // namespace attnprof::operators
