// Venkataramanan et al. 2023, Skip-Attention: what replaces a skipped mixer, and from which length on it pays.
#include "cli/presets/preset.hpp"

#include "operators/workload.hpp"

#include <fmt/format.h>

namespace attnprof::cli {
namespace {

constexpr double kBaseline = 5.8; ///< thousand images a second, ViT-T in table 7

struct Ablation {
  const char* name;
  const char* settings;
  double images; ///< thousands a second on an A100 at batch 1024, table 7 (reuse of A: table 9)
};
constexpr Ablation kAblations[] = {
    {"identity", "phi=identity", 8.5},
    {"convolution 5x5", "phi=conv:kernel=5", 5.2},
    {"depthwise 5x5", "phi=dwc:kernel=5", 7.8},
    {"full, kernel 3", "phi=full:kernel=3", 7.3},
    {"full, kernel 5", "phi=full:kernel=5", 6.9},
    {"full, kernel 7", "phi=full:kernel=7", 6.6},
    {"full, expansion 0.5", "phi=full:kernel=5:expansion=0.5", 7.4},
    {"full, expansion 1", "phi=full:kernel=5:expansion=1", 7.2},
    {"reuse of the attention weights", "reuse=weights", 6.8},
};

constexpr std::int64_t kSides[] = {5, 7, 10, 14, 20, 28, 40}; ///< of the maps on which phi is timed beside attention

std::string network(const char* settings) {
  return fmt::format("layout=skipat:variant=mha:grid=14x14:dim=192:heads=3:depth=12:skip=3-8:{}:plan=fused", settings);
}

/// Fewest tokens for which phi has fewer multiply-adds than the mixer; their map's shape does not matter.
std::int64_t break_even(const PresetFigures& figures) {
  std::int64_t tokens = 1;
  const auto macs = [&](const char* variant) {
    return figures.macs(fmt::format("{}:grid=1x{}:dim=192", variant, tokens));
  };
  while (macs("variant=skipat:kernel=5") >= macs("variant=mha:heads=3")) {
    ++tokens;
  }
  return tokens;
}

std::vector<PresetRow> skipat_phi(const PresetFigures& figures) {
  const std::string base = "layout=standard:variant=mha:grid=14x14:dim=192:heads=3:depth=12:plan=fused";
  std::vector<std::string> ids = {base};
  for (const Ablation& one : kAblations) {
    ids.push_back(network(one.settings));
  }
  for (const std::int64_t side : kSides) {
    ids.push_back(fmt::format("variant=mha:heads=3:grid={0}x{0}:dim=192:plan=fused", side));
    ids.push_back(fmt::format("variant=skipat:kernel=5:grid={0}x{0}:dim=192:plan=fused", side));
  }
  const std::vector<std::optional<double>> times = figures.medians_s(ids);
  std::vector<PresetRow> rows;
  for (std::size_t i = 0; i < std::size(kAblations); ++i) {
    const Ablation& one = kAblations[i];
    rows.push_back({fmt::format("multiply-adds of 12 blocks / all attention: {}", one.name),
                    figures.macs(ids[i + 1]) / figures.macs(base), "1", FigureOrigin::kCounted, "", ""});
    rows.push_back({fmt::format("throughput / all attention: {}", one.name), quotient(times[0], times[i + 1]), "1",
                    FigureOrigin::kMeasured, fmt::format("{:.2f}", one.images / kBaseline), ""});
  }
  rows.push_back({"tokens from which phi (5x5, expansion 2) has fewer multiply-adds than attention",
                  static_cast<double>(break_even(figures)), "tokens", FigureOrigin::kCounted, "n >> d",
                  "closed form: 2 n > E r², n > 25"});
  std::vector<std::int64_t> lengths;
  std::vector<std::optional<double>> ratios;
  for (std::size_t i = 0; i < std::size(kSides); ++i) {
    const std::size_t at = 1 + std::size(kAblations) + 2 * i;
    lengths.push_back(kSides[i] * kSides[i]);
    ratios.push_back(quotient(times[at + 1], times[at]));
    rows.push_back({fmt::format("time, phi / attention, {} tokens", lengths.back()), ratios.back(), "1",
                    FigureOrigin::kMeasured, "", ""});
  }
  rows.push_back({"tokens from which phi is faster than attention", crossing(lengths, ratios), "tokens",
                  FigureOrigin::kMeasured, "", "between the lengths above; absent where it is not among them"});
  return rows;
}

} // namespace

Preset skipat_phi_preset() {
  return {"skipat-phi", "what stands in for the attention of blocks 3 to 8 of ViT-T",
          "Venkataramanan et al. 2023, tables 7 and 9 (A100, batch 1024)", skipat_phi};
}

} // namespace attnprof::cli
