#include "operators/layers/cascade_block.hpp"

#include <array>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

struct Preset {
  std::string_view name;
  std::array<std::int64_t, 3> dims, depths, heads;
  std::array<std::int64_t, 4> query_kernels;
};
/// Liu et al. 2023, table 1, and the released code.
constexpr std::array<Preset, 7> kPresets = {{
    {"efficientvit_m0", {64, 128, 192}, {1, 2, 3}, {4, 4, 4}, {5, 5, 5, 5}},
    {"efficientvit_m1", {128, 144, 192}, {1, 2, 3}, {2, 3, 3}, {7, 5, 3, 3}},
    {"efficientvit_m2", {128, 192, 224}, {1, 2, 3}, {4, 3, 2}, {7, 5, 3, 3}},
    {"efficientvit_m3", {128, 240, 320}, {1, 2, 3}, {4, 3, 4}, {5, 5, 5, 5}},
    {"efficientvit_m4", {128, 256, 384}, {1, 2, 3}, {4, 4, 4}, {7, 5, 3, 3}},
    {"efficientvit_m5", {192, 288, 384}, {1, 3, 4}, {3, 3, 4}, {7, 5, 3, 3}},
    {"efficientvit_miniature", {8, 12, 16}, {1, 1, 2}, {2, 3, 4}, {7, 5, 3, 3}},
}};

void resolve(Config& config) {
  resolve_image_size(config, 224, 16);
}

void build(GraphBuilder& builder, const Config& config) {
  const Preset& preset = preset_of(kPresets, config);
  const std::int64_t batch = config.integer("batch");
  const bool folded = config.flag("folded");
  View x =
      overlapping_patches(builder, image_input(builder, batch, config.integer("image_size")), preset.dims[0], folded);
  for (std::size_t i = 0; i < 3; ++i) {
    const Part part(builder, fmt::format("stage{}", i));
    if (i > 0) {
      const Part down(builder, "subsample");
      x = subsample(builder, x, preset.dims[i], folded);
    }
    const CascadeStage stage{batch,
                             x.dims[1],
                             preset.dims[i],
                             preset.heads[i],
                             16,
                             {preset.query_kernels.begin(), preset.query_kernels.end()},
                             7,
                             folded};
    for (std::int64_t block = 0; block < blocks_of(config, preset.depths[i]); ++block) {
      const Part one(builder, fmt::format("block{}", block));
      x = cascade_block(builder, stage, x);
    }
  }
  const Part part(builder, "head");
  View y = mean_tokens(builder, as_tokens(x), batch);
  y = folded ? y : batch_norm(builder, "bn", y); // folded into the linear layer, which has a bias anyway
  builder.mark_output(dense(builder, "logits", y, 1000), "logits");
}

} // namespace

std::vector<ModelDescriptor> describe_models_efficientvit() {
  std::vector<ModelDescriptor> out;
  for (const Preset& preset : kPresets) {
    ModelDescriptor model;
    model.name = preset.name;
    model.summary =
        fmt::format("sandwich blocks with cascaded group attention in windows, dims {}", fmt::join(preset.dims, " "));
    model.source = "Liu et al. 2023, EfficientViT: Memory Efficient Vision Transformer with Cascaded Group Attention, "
                   "table 1; wiring: the released code";
    model.own_params = image_params();
    model.own_params.push_back(folded_param());
    model.resolve = resolve;
    model.build = build;
    model.is_miniature = preset.name == "efficientvit_miniature";
    model.samples = {"image_size=144", "image_size=32:folded=true:batch=2"}; // 9 x 9 pads its windows of 7
    out.push_back(std::move(model));
  }
  return out;
}

} // namespace attnprof::operators
