#include "operators/layers/network.hpp"
#include "operators/layers/window_attention.hpp"

#include <array>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

constexpr double kEps = 1e-5;
constexpr std::int64_t kWindow = 7;

struct Preset {
  std::string_view name;
  std::int64_t dim;
  std::array<std::int64_t, 4> depths, heads;
};
/// Liu et al. 2021, section 3.3.
constexpr std::array<Preset, 4> kPresets = {{
    {"swin_tiny_patch4_window7_224", 96, {2, 2, 6, 2}, {3, 6, 12, 24}},
    {"swin_small_patch4_window7_224", 96, {2, 2, 18, 2}, {3, 6, 12, 24}},
    {"swin_base_patch4_window7_224", 128, {2, 2, 18, 2}, {4, 8, 16, 32}},
    {"swin_miniature", 4, {2, 1, 1, 1}, {1, 2, 2, 2}},
}};

void resolve(Config& config) {
  resolve_image_size(config, 224, 32);
}

View window_block(GraphBuilder& builder, const Windows& windows, std::int64_t heads, const View& x) {
  View sum;
  {
    const Part part(builder, "mixer");
    const View y = norm(builder, "norm", x, kEps);
    sum = builder.add("residual", x,
                      build_window_attention(builder, {windows, heads, x.dims.back() / heads, true, true}, y));
  }
  return mlp_block(builder, sum, 4 * x.dims.back(), StepFn::kGelu, kEps);
}

/// 2x2 neighbours side by side, norm, and a product that halves their channels.
View merge_patches(GraphBuilder& builder, std::int64_t batch, std::int64_t side, const View& x) {
  const Part part(builder, "merge");
  const View map = as_image(x, batch, side).split(1, side / 2, 2).split(3, side / 2, 2); // [b, i, 2, j, 2, c]
  const View near = builder.layout_copy("neighbours", map.transpose(2, 3)).merge(4).merge(3).as_matrix();
  return dense(builder, "reduce", norm(builder, "norm", near, kEps), 2 * x.dims.back(), false);
}

void build(GraphBuilder& builder, const Config& config) {
  const Preset& preset = preset_of(kPresets, config);
  const std::int64_t batch = config.integer("batch");
  std::int64_t side = config.integer("image_size") / 4;
  View x;
  {
    const Part part(builder, "patches");
    const View image = image_input(builder, batch, config.integer("image_size"));
    x = norm(builder, "norm", as_tokens(conv(builder, "conv", image, preset.dim, 4, 4, 0)), kEps);
  }
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const Part part(builder, fmt::format("stage{}", stage));
    if (stage > 0) {
      x = merge_patches(builder, batch, side, x);
      side /= 2;
    }
    const std::int64_t window = std::min(kWindow, side);
    for (std::int64_t block = 0; block < blocks_of(config, preset.depths[stage]); ++block) {
      const Part one(builder, fmt::format("block{}", block));
      const std::int64_t shift = block % 2 == 1 && side > kWindow ? kWindow / 2 : 0;
      x = window_block(builder, {batch, side, side, window, shift}, preset.heads[stage], x);
    }
  }
  const Part part(builder, "head");
  const View mean = mean_tokens(builder, norm(builder, "norm", x, kEps), batch);
  builder.mark_output(dense(builder, "logits", mean, 1000), "logits");
}

} // namespace

std::vector<ModelDescriptor> describe_models_swin() {
  std::vector<ModelDescriptor> out;
  for (const Preset& preset : kPresets) {
    ModelDescriptor model;
    model.name = preset.name;
    model.summary = fmt::format("attention in shifted windows of 7, four stages, dim {} and blocks {}", preset.dim,
                                fmt::join(preset.depths, " "));
    model.source = "Liu et al. 2021, Swin Transformer, section 3.3";
    model.own_params = image_params();
    model.resolve = resolve;
    model.build = build;
    model.is_miniature = preset.name == "swin_miniature";
    model.samples = {"image_size=32"};
    out.push_back(std::move(model));
  }
  return out;
}

} // namespace attnprof::operators
