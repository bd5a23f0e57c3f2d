#include "operators/layers/patch_tokens.hpp"
#include "operators/layers/phi.hpp"

#include <array>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

constexpr double kEps = 1e-6;
// Blocks that reuse the mixer's output, counted from 0.
constexpr std::int64_t kFirstSkipped = 3;
constexpr std::int64_t kLastSkipped = 8;

struct Preset {
  std::string_view name;
  PlainTrunk trunk;
};
constexpr std::array<Preset, 4> kPresets = {{
    {"skipat_T", {192, 3, 12, 1}},
    {"skipat_S", {384, 6, 12, 1}},
    {"skipat_B", {768, 12, 12, 1}},
    {"skipat_miniature", {8, 2, 5, 1}},
}};

void resolve(Config& config) {
  resolve_image_size(config, 224, 16);
}

/// The first phi reads the mixer's output of the block before, each later one the phi before it; no norm in front.
void build(GraphBuilder& builder, const Config& config) {
  const PlainTrunk& trunk = preset_of(kPresets, config).trunk;
  const std::int64_t batch = config.integer("batch");
  const std::int64_t side = config.integer("image_size") / 16;
  Phi phi;
  phi.batch = batch;
  phi.grid = {side, side};
  phi.cls_token = true;
  View x = patch_tokens(builder, trunk, batch, config.integer("image_size"));
  View reused;
  for (std::int64_t block = 0; block < blocks_of(config, trunk.depth); ++block) {
    const Part part(builder, fmt::format("block{}", block));
    if (block >= kFirstSkipped && block <= kLastSkipped) {
      const Part reuse(builder, "phi");
      reused = build_phi(builder, phi, reused);
      x = builder.add("residual", x, reused);
    } else {
      const Residual mixed = attention_block(builder, x, batch, trunk.heads, kEps);
      reused = mixed.branch;
      x = mixed.sum;
    }
    x = mlp_block(builder, x, 4 * trunk.dim, StepFn::kGelu, kEps);
  }
  classify(builder, trunk, x, batch);
}

} // namespace

std::vector<ModelDescriptor> describe_models_skipat() {
  std::vector<ModelDescriptor> out;
  for (const Preset& preset : kPresets) {
    ModelDescriptor model;
    model.name = preset.name;
    model.summary =
        fmt::format("ViT, dim {}, whose blocks 3 to 8 reuse block 2's attention output through phi", preset.trunk.dim);
    model.source = "Venkataramanan et al. 2023, Skip-Attention, section 4.1; wiring and biases: the released code";
    model.own_params = image_params();
    model.resolve = resolve;
    model.build = build;
    model.is_miniature = preset.name == "skipat_miniature";
    model.samples = {"image_size=32"};
    out.push_back(std::move(model));
  }
  return out;
}

} // namespace attnprof::operators
