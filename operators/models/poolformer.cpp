#include "operators/layers/network.hpp"
#include "operators/layers/pool_mix.hpp"

#include <array>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

constexpr double kEps = 1e-5;

struct Preset {
  std::string_view name;
  std::array<std::int64_t, 4> dims, depths;
};
/// Yu et al. 2022, table 1.
constexpr std::array<Preset, 6> kPresets = {{
    {"poolformer_s12", {64, 128, 320, 512}, {2, 2, 6, 2}},
    {"poolformer_s24", {64, 128, 320, 512}, {4, 4, 12, 4}},
    {"poolformer_s36", {64, 128, 320, 512}, {6, 6, 18, 6}},
    {"poolformer_m36", {96, 192, 384, 768}, {6, 6, 18, 6}},
    {"poolformer_m48", {96, 192, 384, 768}, {8, 8, 24, 8}},
    {"poolformer_miniature", {4, 4, 6, 8}, {1, 1, 2, 1}},
}};

void resolve(Config& config) {
  resolve_image_size(config, 224, 32);
}

/// GroupNorm of one group: statistics over the whole map of an image, then a scale and shift per channel.
View group_norm(GraphBuilder& builder, const std::string& name, const View& x) {
  const WeightPrefix prefix(builder, name + ".");
  const std::int64_t elements = x.dims[1] * x.dims[2] * x.dims[3];
  View one = builder.constant("one", {1}, {1.0F});
  View zero = builder.constant("zero", {1}, {0.0F});
  one.dims[0] = zero.dims[0] = elements;
  one.strides[0] = zero.strides[0] = 0;
  View y = builder.layernorm(name, x.as_matrix().split(0, x.dims[0], x.dims[1] * x.dims[2]).merge(1), one, zero, kEps)
               .split(1, x.dims[1] * x.dims[2], x.dims[3])
               .split(1, x.dims[1], x.dims[2]);
  y = builder.mul(name + "_scale", y, each_row(builder.weight("gamma", {x.dims[3]}), x));
  return builder.add(name + "_shift", y, each_row(builder.weight("beta", {x.dims[3]}), x));
}

/// x + scale * branch: LayerScale (Touvron et al. 2021, Going deeper with Image Transformers, eq. 2).
View scaled_residual(GraphBuilder& builder, const View& x, const View& branch) {
  const View scale = each_row(builder.weight("layer_scale", {x.dims[3]}), x);
  return builder.add("residual", x, builder.mul("layer_scale", branch, scale));
}

View pool_block(GraphBuilder& builder, View x) {
  {
    const Part part(builder, "mixer");
    const View y = group_norm(builder, "norm", x);
    x = scaled_residual(builder, x, build_pool_mix(builder, y, 3));
  }
  const Part part(builder, "ffn");
  const View y = group_norm(builder, "norm", x);
  View inner = builder.activation("act", dense(builder, "fc1", as_tokens(y), 4 * x.dims[3]), StepFn::kGelu);
  inner = dense(builder, "fc2", inner, x.dims[3]);
  return scaled_residual(builder, x, as_image(inner, x.dims[0], x.dims[1]));
}

void build(GraphBuilder& builder, const Config& config) {
  const Preset& preset = preset_of(kPresets, config);
  const std::int64_t batch = config.integer("batch");
  View x = image_input(builder, batch, config.integer("image_size"));
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const Part part(builder, fmt::format("stage{}", stage));
    x = stage == 0 ? conv(builder, "patches", x, preset.dims[0], 7, 4, 2)
                   : conv(builder, "patches", x, preset.dims[stage], 3, 2, 1);
    for (std::int64_t block = 0; block < blocks_of(config, preset.depths[stage]); ++block) {
      const Part one(builder, fmt::format("block{}", block));
      x = pool_block(builder, x);
    }
  }
  const Part part(builder, "head");
  const View mean = mean_tokens(builder, as_tokens(group_norm(builder, "norm", x)), batch);
  builder.mark_output(dense(builder, "logits", mean, 1000), "logits");
}

} // namespace

std::vector<ModelDescriptor> describe_models_poolformer() {
  std::vector<ModelDescriptor> out;
  for (const Preset& preset : kPresets) {
    ModelDescriptor model;
    model.name = preset.name;
    model.summary = fmt::format("average pooling in place of attention, four stages, dims {}, blocks {}",
                                fmt::join(preset.dims, " "), fmt::join(preset.depths, " "));
    model.source = "Yu et al. 2022, MetaFormer Is Actually What You Need for Vision, table 1";
    model.own_params = image_params();
    model.resolve = resolve;
    model.build = build;
    model.is_miniature = preset.name == "poolformer_miniature";
    model.samples = {"image_size=32:batch=2"};
    out.push_back(std::move(model));
  }
  return out;
}

} // namespace attnprof::operators
