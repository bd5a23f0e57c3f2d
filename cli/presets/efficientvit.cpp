// Liu et al. 2023, EfficientViT: group attention, sandwich layout, reallocation of parameters.
#include "cli/presets/preset.hpp"

namespace attnprof::cli {
namespace {

const std::vector<std::string> kQkv = {"wq", "wk", "wv"};

std::vector<PresetRow> group_params(const PresetFigures& figures) {
  const std::string sizes = ":seq_len=196:dim=192:heads=4:qk_dim=16:v_dim=16";
  const double mha = figures.weights("variant=mha" + sizes, kQkv);
  const double group = figures.weights("variant=group" + sizes, kQkv);
  return {
      {"q, k, v parameters, dim 192, 4 heads of 16: every head reads all channels", mha, "1", {}, "36,864", ""},
      {"the same, every head reads its own slice", group, "1", {}, "9,216", ""},
      {"one projection of one head: from all channels", mha / 12, "1", {}, "3,072", "3 projections of 4 heads"},
      {"one projection of one head: from its slice", group / 12, "1", {}, "768", ""},
      {"ratio", mha / group, "1", {}, "4 (the number of heads)", ""},
  };
}

std::vector<PresetRow> sandwich(const PresetFigures& figures) {
  const std::string sizes = ":variant=mha:grid=14x14:dim=192:heads=3:mlp_ratio=2:plan=fused";
  const std::string standard = "layout=standard:depth=3" + sizes;
  // Equal numbers of feed-forward networks cannot be had with one attention: 2 + 1 + 2 is the source's block.
  const std::string sandwich = "layout=sandwich:depth=1:n_ffn=2" + sizes;
  const std::vector<std::optional<double>> times = figures.medians_s({standard, sandwich});
  return {
      {"attention passes: three standard blocks", figures.attention_passes(standard), "1", {}, "3", ""},
      {"attention passes: one sandwich of 2 + 1 + 2", figures.attention_passes(sandwich), "1", {}, "1", ""},
      {"sub-layers: three standard blocks", 6, "1", {}, "6", "3 attentions, 3 FFNs"},
      {"sub-layers: one sandwich of 2 + 1 + 2",
       5,
       "1",
       {},
       "6",
       "1 attention, 4 FFNs and 4 depthwise convolutions; the source pads with a fifth FFN"},
      {"multiply-adds, sandwich / standard", figures.macs(sandwich) / figures.macs(standard), "1", {}, "", ""},
      {"parameters, sandwich / standard", figures.params(sandwich) / figures.params(standard), "1", {}, "", ""},
      {"time: standard", times[0], "s", FigureOrigin::kMeasured, "", ""},
      {"time: sandwich", times[1], "s", FigureOrigin::kMeasured, "", ""},
      {"time, sandwich / standard", quotient(times[1], times[0]), "1", FigureOrigin::kMeasured,
       "1.2 ms of 1.8 ms attention saved", "the source adds up one attention's time, on another machine"},
  };
}

std::vector<PresetRow> reallocation(const PresetFigures& figures) {
  const std::string shape = "layout=standard:variant=mha:seq_len=196:dim=192:heads=3";
  const std::string narrow = shape + ":qk_dim=16:v_dim=64:mlp_ratio=2";
  const std::string wide = shape + ":mlp_ratio=4";
  const std::vector<std::string> parts = {"wq", "wk", "wv", "w1", "w2"};
  const double before = figures.weights(wide, parts);
  const double after = figures.weights(narrow, parts);
  const std::vector<std::optional<double>> times = figures.medians_s({wide + ":plan=fused", narrow + ":plan=fused"});
  return {
      {"q, k, v and FFN parameters, dim 192, 3 heads of 64, FFN ratio 4", before, "1", {}, "405,504", ""},
      {"the same with queries and keys of 16 and FFN ratio 2", after, "1", {}, "202,752", ""},
      {"ratio", after / before, "1", {}, "half", ""},
      {"the FFN alone, before", figures.weights(wide, {"w1", "w2"}), "1", {}, "295K", ""},
      {"the FFN alone, after", figures.weights(narrow, {"w1", "w2"}), "1", {}, "147K", ""},
      {"multiply-adds of the whole block, after / before", figures.macs(narrow) / figures.macs(wide), "1", {}, "", ""},
      {"time of the whole block, after / before", quotient(times[1], times[0]), "1", FigureOrigin::kMeasured, "", ""},
  };
}

} // namespace

Preset group_params_preset() {
  return {"group-params", "parameters that group attention saves, head by head", "Liu et al. 2023, section 3.2",
          group_params};
}
Preset sandwich_preset() {
  return {"sandwich", "three standard blocks against one sandwich block", "Liu et al. 2023, section 3.1", sandwich};
}
Preset reallocation_preset() {
  return {"reallocation", "narrow queries and keys and a narrow FFN against the usual widths",
          "Liu et al. 2023, section 3.3", reallocation};
}

} // namespace attnprof::cli
