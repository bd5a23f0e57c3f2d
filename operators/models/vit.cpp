#include "operators/layers/patch_tokens.hpp"

#include <array>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

constexpr double kEps = 1e-6;

struct Preset {
  std::string_view name;
  std::int64_t image_size;
  PlainTrunk trunk;
};
/// Widths and heads: Touvron et al. 2021, table 1; 384 pixels and the distilled ones: the public code.
constexpr std::array<Preset, 11> kPresets = {{
    {"vit_tiny_patch16_224", 224, {192, 3, 12, 1}},
    {"vit_small_patch16_224", 224, {384, 6, 12, 1}},
    {"vit_base_patch16_224", 224, {768, 12, 12, 1}},
    {"vit_tiny_patch16_384", 384, {192, 3, 12, 1}},
    {"vit_small_patch16_384", 384, {384, 6, 12, 1}},
    {"vit_base_patch16_384", 384, {768, 12, 12, 1}},
    {"deit_tiny_distilled_patch16_224", 224, {192, 3, 12, 2}},
    {"deit_small_distilled_patch16_224", 224, {384, 6, 12, 2}},
    {"deit_base_distilled_patch16_224", 224, {768, 12, 12, 2}},
    {"deit_base_distilled_patch16_384", 384, {768, 12, 12, 2}},
    {"vit_miniature", 32, {8, 2, 2, 2}},
}};

void resolve(Config& config) {
  resolve_image_size(config, preset_of(kPresets, config).image_size, 16);
}

void build(GraphBuilder& builder, const Config& config) {
  const PlainTrunk& trunk = preset_of(kPresets, config).trunk;
  const std::int64_t batch = config.integer("batch");
  View x = patch_tokens(builder, trunk, batch, config.integer("image_size"));
  for (std::int64_t block = 0; block < blocks_of(config, trunk.depth); ++block) {
    const Part part(builder, fmt::format("block{}", block));
    x = attention_block(builder, x, batch, trunk.heads, kEps).sum;
    x = mlp_block(builder, x, 4 * trunk.dim, StepFn::kGelu, kEps);
  }
  classify(builder, trunk, x, batch);
}

} // namespace

std::vector<ModelDescriptor> describe_models_vit() {
  std::vector<ModelDescriptor> out;
  for (const Preset& preset : kPresets) {
    ModelDescriptor model;
    model.name = preset.name;
    model.summary = fmt::format("vision transformer, dim {}, {} heads, 12 blocks, {} pixels{}", preset.trunk.dim,
                                preset.trunk.heads, preset.image_size,
                                preset.trunk.extra_tokens == 2 ? ", with a distillation token and its head" : "");
    model.source =
        preset.trunk.extra_tokens == 2
            ? "Touvron et al. 2021, Training data-efficient image transformers, section 4"
            : "Dosovitskiy et al. 2021, An Image is Worth 16x16 Words, eq. 1 to 4; sizes T and S: Touvron et "
              "al. 2021, table 1";
    model.own_params = image_params();
    model.resolve = resolve;
    model.build = build;
    model.is_miniature = preset.name == "vit_miniature";
    model.samples = {"batch=2"};
    out.push_back(std::move(model));
  }
  return out;
}

} // namespace attnprof::operators
