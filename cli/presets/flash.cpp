// Hua et al. 2022, Transformer Quality in Linear Time: GAU against attention and FFN, FLASH against FLASH-Quad.
#include "cli/presets/preset.hpp"

#include "operators/workload.hpp"

#include <fmt/format.h>

namespace attnprof::cli {
namespace {

std::vector<PresetRow> gau(const PresetFigures& figures) {
  const std::string sizes = ":seq_len=1024:dim=768:plan=fused";
  const std::string standard = "layout=standard:variant=mha:heads=12" + sizes;
  const std::string stack = "layout=gau_stack:variant=gau" + sizes; // two GAU layers stand for one block
  const std::vector<std::string> matrices = {"wq", "wk", "wv", "wo", "w1", "w2"};
  const double block = figures.weights(standard, matrices);
  const double units = figures.weights(stack, {"wu", "wv", "wo"});
  const std::vector<std::optional<double>> times = figures.medians_s({standard, stack});
  return {
      {"matrix parameters at dim 768: attention and FFN", block, "1", {}, "12 d² = 7,077,888", ""},
      {"two GAU layers, expansion 2, without wz", units, "1", {}, "2 * 3 d e = 7,077,888", ""},
      {"two GAU layers with wz",
       figures.weights(stack, {"wu", "wv", "wo", "wz"}),
       "1",
       {},
       "about equal",
       "wz adds 2 d s = 196,608, 2.8 %"},
      {"multiply-adds at 1024 tokens: attention and FFN", figures.macs(standard), "1", {}, "", ""},
      {"two GAU layers",
       figures.macs(stack),
       "1",
       {},
       "faster",
       "more work: two score matrices in place of twelve, but each wider, s + e = 1664 against 128"},
      {"elements of score matrices: attention and FFN", figures.score_elements(standard), "1", {}, "b h n²", ""},
      {"two GAU layers", figures.score_elements(stack), "1", {}, "b n² a layer", ""},
      {"time: attention and FFN", times[0], "s", FigureOrigin::kMeasured, "", ""},
      {"time: two GAU layers", times[1], "s", FigureOrigin::kMeasured, "", ""},
      {"time, GAU / attention and FFN", quotient(times[1], times[0]), "1", FigureOrigin::kMeasured, "below 1", ""},
  };
}

std::string unit_id(const char* variant, std::int64_t tokens) {
  const std::string chunk = std::string(variant) == "flash" ? ":chunk=256" : "";
  return fmt::format("layout=gau_stack:variant={}:seq_len={}:dim=768{}:plan=fused", variant, tokens, chunk);
}

std::vector<PresetRow> flash_crossover(const PresetFigures& figures) {
  std::int64_t low = 256;
  std::int64_t high = 65536;
  while (high - low > 256) { // whole chunks, so that padding does not blur it
    const std::int64_t middle = (low + high) / 512 * 256;
    const bool less = figures.macs(unit_id("flash", middle)) < figures.macs(unit_id("gau", middle));
    (less ? high : low) = middle;
  }
  std::vector<PresetRow> rows = {
      {"shortest length, in chunks of 256, at which FLASH has fewer multiply-adds than FLASH-Quad",
       static_cast<double>(high), "tokens", FigureOrigin::kCounted,
       "n >> s² = 4096 (for s = 64, linear against quadratic)",
       "the closed form is n > c + 2 s e / (s + e) = 492 at dim 768"}};
  std::vector<std::string> ids;
  const std::vector<std::int64_t> lengths = {256, 512, 1024, 2048, 4096};
  for (const std::int64_t tokens : lengths) {
    ids.push_back(unit_id("gau", tokens));
    ids.push_back(unit_id("flash", tokens));
  }
  const std::vector<std::optional<double>> times = figures.medians_s(ids);
  std::vector<std::optional<double>> ratios;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    ratios.push_back(quotient(times[2 * i + 1], times[2 * i]));
    rows.push_back({fmt::format("multiply-adds, FLASH / FLASH-Quad, {} tokens", lengths[i]),
                    figures.macs(ids[2 * i + 1]) / figures.macs(ids[2 * i]), "1", FigureOrigin::kCounted, "", ""});
    rows.push_back({fmt::format("time, FLASH / FLASH-Quad, {} tokens", lengths[i]), ratios.back(), "1",
                    FigureOrigin::kMeasured, "", ""});
  }
  rows.push_back({"length from which FLASH is faster than FLASH-Quad", crossing(lengths, ratios), "tokens",
                  FigureOrigin::kMeasured, "", "between the lengths above; absent where it is not among them"});
  return rows;
}

} // namespace

Preset gau_preset() {
  return {"gau", "two gated attention units against one block of attention and FFN, at equal parameters",
          "Hua et al. 2022, section 2", gau};
}
Preset flash_crossover_preset() {
  return {"flash-crossover", "from which length on mixed chunk attention has less to do than the quadratic unit",
          "Hua et al. 2022, section 3", flash_crossover};
}

} // namespace attnprof::cli
