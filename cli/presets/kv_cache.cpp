// Shazeer 2019 and Ainslie et al. 2023: key heads, their cache and the speed of decoding.
#include "cli/presets/preset.hpp"

#include <fmt/format.h>

namespace attnprof::cli {
namespace {

std::vector<PresetRow> kv_cache(const PresetFigures& figures) {
  // One layer of a small decoder: 32 heads of 64, one token after 4095.
  const std::string shape = ":phase=decode:past_len=4095:dim=2048:heads=32:causal=true:plan=fused";
  const std::vector<std::string> ids = {"variant=mha" + shape, "variant=gqa:kv_heads=8" + shape, "variant=mqa" + shape};
  const std::vector<const char*> names = {"MHA, 32 key heads", "GQA, 8 key heads", "MQA, 1 key head"};
  const std::vector<const char*> savings = {"1", "n/G = 4", "n = 32"};
  const std::vector<std::optional<double>> times = figures.medians_s(ids);
  const double mha = static_cast<double>(figures.totals(ids[0]).kv_cache_bytes.value());
  std::vector<PresetRow> rows;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const double bytes = static_cast<double>(figures.totals(ids[i]).kv_cache_bytes.value());
    rows.push_back({fmt::format("cache of one layer, 4096 tokens: {}", names[i]), bytes, "B", {}, "", ""});
    rows.push_back({"  saving against MHA", mha / bytes, "1", {}, savings[i], ""});
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    rows.push_back({fmt::format("time of one token: {}", names[i]), times[i], "s", FigureOrigin::kMeasured, "", ""});
  }
  rows.push_back({"speed-up of GQA over MHA", quotient(times[0], times[1]), "1", FigureOrigin::kMeasured, "",
                  "projections are part of the time"});
  rows.push_back({"speed-up of MQA over MHA", quotient(times[0], times[2]), "1", FigureOrigin::kMeasured, "", ""});
  const auto per_token = [&](const std::string& model) {
    return static_cast<double>(
        figures.totals("model=" + model + ":phase=decode:past_len=0:dtype=f16").kv_cache_bytes.value());
  };
  rows.push_back(
      {"cache per token, 16 bits: Llama-2-7B", per_token("llama-2-7b"), "B", {}, "l b n h s 2 2 = 524,288", ""});
  rows.push_back({"cache per token, 16 bits: Llama-2-70B, 8 key heads",
                  per_token("llama-2-70b"),
                  "B",
                  {},
                  "l b G h s 2 2 = 327,680",
                  ""});
  return rows;
}

} // namespace

Preset kv_cache_preset() {
  return {"kv-cache", "cache and decoding speed of MHA, GQA and MQA",
          "Shazeer 2019, Fast Transformer Decoding; Ainslie et al. 2023, GQA", kv_cache};
}

} // namespace attnprof::cli
