#include "operators/layers/spatial_reduction.hpp"

#include <array>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

constexpr double kEps = 1e-6;
using FourStages = std::array<std::int64_t, 4>;
constexpr FourStages kDims = {64, 128, 320, 512};
constexpr FourStages kHeads = {1, 2, 5, 8};
constexpr FourStages kRatios = {8, 8, 4, 4};
constexpr FourStages kReductions = {8, 4, 2, 1};

struct Preset {
  std::string_view name;
  FourStages depths;
  FourStages dims = kDims;
  FourStages heads = kHeads;
};
/// Wang et al. 2021, table 1.
constexpr std::array<Preset, 5> kPresets = {{
    {"pvt_tiny", {2, 2, 2, 2}},
    {"pvt_small", {3, 4, 6, 3}},
    {"pvt_medium", {3, 4, 18, 3}},
    {"pvt_large", {3, 8, 27, 3}},
    {"pvt_miniature", {1, 1, 2, 1}, {4, 4, 6, 8}, {1, 2, 3, 2}},
}};

void resolve(Config& config) {
  // 32: the four strides; the first stage's reduction of 8 divides a quarter of it.
  resolve_image_size(config, 224, 32);
}

/// Patches, norm, the class token in the last stage, and a learned position table.
View stage_tokens(GraphBuilder& builder, std::size_t stage, std::int64_t dim, const View& image, std::int64_t batch) {
  const Part part(builder, "patches");
  const std::int64_t kernel = stage == 0 ? 4 : 2;
  const View map = conv(builder, "conv", image, dim, kernel, kernel, 0);
  const std::int64_t count = map.dims[1] * map.dims[2];
  View x = norm(builder, "norm", as_tokens(map), kEps).split(0, batch, count);
  if (stage == 3) {
    const View joined = builder.temporary({batch, count + 1, dim});
    builder.copy_into("cls_concat", builder.weight("cls", {1, dim}).broadcast(0, batch), joined.slice(1, 0, 1));
    builder.copy_into("patch_concat", x, joined.slice(1, 1, count));
    x = joined;
  }
  const View positions = builder.weight("positions", {x.dims[1], dim}).broadcast(0, batch);
  return builder.add("add_positions", x, positions).as_matrix();
}

View pvt_block(GraphBuilder& builder, const SpatialReduction& attention, std::int64_t ratio, View x) {
  {
    const Part part(builder, "mixer");
    x = builder.add("residual", x, build_spatial_reduction(builder, attention, norm(builder, "norm", x, kEps)));
  }
  return mlp_block(builder, x, ratio * x.dims.back(), StepFn::kGelu, kEps);
}

void build(GraphBuilder& builder, const Config& config) {
  const Preset& preset = preset_of(kPresets, config);
  const std::int64_t batch = config.integer("batch");
  View image = image_input(builder, batch, config.integer("image_size"));
  View x;
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const Part part(builder, fmt::format("stage{}", stage));
    x = stage_tokens(builder, stage, preset.dims[stage], image, batch);
    const std::int64_t side = image.dims[1] / (stage == 0 ? 4 : 2);
    const SpatialReduction attention{batch, side, side, stage == 3 ? 1 : 0, preset.heads[stage], kReductions[stage],
                                     true};
    for (std::int64_t block = 0; block < blocks_of(config, preset.depths[stage]); ++block) {
      const Part one(builder, fmt::format("block{}", block));
      x = pvt_block(builder, attention, kRatios[stage], x);
    }
    image = stage < 3 ? as_image(x, batch, side) : image;
  }
  const Part part(builder, "head");
  const View y = norm(builder, "norm", x, kEps).split(0, batch, x.dims[0] / batch);
  const View cls = builder.layout_copy("cls_slice", y.slice(1, 0, 1)).as_matrix();
  builder.mark_output(dense(builder, "logits", cls, 1000), "logits");
}

} // namespace

std::vector<ModelDescriptor> describe_models_pvt() {
  std::vector<ModelDescriptor> out;
  for (const Preset& preset : kPresets) {
    ModelDescriptor model;
    model.name = preset.name;
    model.summary =
        fmt::format("pyramid of four stages, keys from a reduced map, blocks {}", fmt::join(preset.depths, " "));
    model.source = "Wang et al. 2021, Pyramid Vision Transformer, table 1";
    model.own_params = image_params();
    model.resolve = resolve;
    model.build = build;
    model.is_miniature = preset.name == "pvt_miniature";
    model.samples = {"image_size=32"};
    out.push_back(std::move(model));
  }
  return out;
}

} // namespace attnprof::operators
