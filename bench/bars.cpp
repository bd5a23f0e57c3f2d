#include "bench/bars.hpp"

#include "operators/core/error.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::bench {
namespace {

constexpr bool kAtLeast = false;
constexpr bool kAtMost = true;

// The bars were set on a machine with AVX-512. Shares are of a loop of fused multiply-adds or of a copy or read that
// was timed in the same rounds, so they mean the same on a machine with AVX2.
constexpr Bar kBars[] = {
    {"projection", "projections and FFNs: share of FMA peak", kAtLeast, 0.85, 0.92},
    {"square", "squares 1024 to 4096: share of FMA peak", kAtLeast, 0.80, 0.89},
    {"scores", "batched scores, 196 tokens: share of FMA peak", kAtLeast, 0.75, 0.83},
    {"mix", "batched mix, 196 tokens: share of FMA peak", kAtLeast, 0.85, 0.94},
    {"tiny", "tiny batched, 49 tokens, 16 wide: share of FMA peak", kAtLeast, 0.45, 0.65},
    {"bf16", "bf16 products: share of bf16 peak", kAtLeast, 0.75, 0.94, Needs::kBf16},
    {"matvec", "one row by weights past L3: share of DRAM read", kAtLeast, 0.85, 0.95},
    {"product-peer", "products: best library's time over ours", kAtLeast, 0.97, 1.0},
    {"attention", "fused attention, full, from 196 tokens: share of FMA peak", kAtLeast, 0.72, 0.85},
    {"attention-causal-196", "fused attention, causal, 196 tokens: share of FMA peak", kAtLeast, 0.60, 0.80},
    {"attention-causal", "fused attention, causal, from 1024 tokens: share of FMA peak", kAtLeast, 0.70, 0.80},
    {"fused", "fused over eager time, full, 1024 tokens", kAtMost, 0.80, std::nullopt},
    {"fused-causal", "fused over eager time, causal, 1024 tokens", kAtMost, 0.50, std::nullopt},
    {"attention-peer", "attention: best library's time over ours", kAtLeast, 1.15, std::nullopt},
    {"attention-bf16", "fused attention: time of f32 over time of bf16", kAtLeast, 1.5, std::nullopt, Needs::kBf16},
    {"attention-memory", "fused attention: memory at twice the tokens over memory", kAtMost, 2.1, 2.0},
    {"decode", "decode: share of DRAM read if keys and values are read once", kAtLeast, 0.85, 0.95},
    {"add", "add, DRAM: share of copy", kAtLeast, 0.95, std::nullopt},
    {"norm", "LayerNorm and RMSNorm, DRAM: share of copy", kAtLeast, 0.80, std::nullopt},
    {"activation", "GELU and SiLU, DRAM: share of copy", kAtLeast, 0.75, std::nullopt},
    {"softmax", "softmax, DRAM: share of copy", kAtLeast, 0.60, std::nullopt},
    {"heads", "head split and merge, DRAM: share of copy", kAtLeast, 0.65, std::nullopt},
    {"transpose", "transpose, DRAM: share of copy", kAtLeast, 0.25, std::nullopt},
    {"depthwise", "depthwise, DRAM: share of copy", kAtLeast, 0.40, std::nullopt},
    {"softmax-l2", "softmax, L2: share of copy", kAtLeast, 0.20, std::nullopt},
    {"transpose-l2", "transpose, L2: share of copy", kAtLeast, 0.45, std::nullopt},
    {"depthwise-3-l2", "depthwise 3x3, L2: share of FMA peak", kAtLeast, 0.45, std::nullopt},
    {"depthwise-5-l2", "depthwise 5x5, L2: share of FMA peak", kAtLeast, 0.70, std::nullopt},
    {"rows-peer", "row kernels and depthwise: time of the best of Eigen, oneDNN, compiler over ours", kAtLeast, 1.0,
     std::nullopt},
    {"threads", "speed of two threads over one, from 1 ms of work", kAtLeast, 1.8, 2.0},
    {"avx512", "products: time with AVX-512 over time with AVX2", kAtMost, 0.60, std::nullopt, Needs::kAvx512},
    {"cascade", "cascaded over group attention, 4 heads, 196 tokens: time", kAtMost, 1.3, std::nullopt},
};

} // namespace

std::span<const Bar> all_bars() {
  return kBars;
}

const Bar& find_bar(std::string_view name) {
  for (const Bar& bar : kBars) {
    if (bar.name == name) {
      return bar;
    }
  }
  throw operators::Error(operators::ErrorKind::kInternal, fmt::format("no bar is named '{}'", name));
}

std::string_view name_of(BarVerdict verdict) {
  switch (verdict) {
  case BarVerdict::kOk: return "ok";
  case BarVerdict::kShort: return "short";
  case BarVerdict::kNotApplicable: break;
  }
  return "not applicable here";
}

BarVerdict verdict_on(const Bar& bar, double figure) {
  return (bar.at_most ? figure <= bar.bar : figure >= bar.bar) ? BarVerdict::kOk : BarVerdict::kShort;
}

std::optional<double> worst_figure(const Bar& bar, std::span<const double> figures) {
  if (figures.empty()) {
    return std::nullopt;
  }
  return bar.at_most ? *std::max_element(figures.begin(), figures.end())
                     : *std::min_element(figures.begin(), figures.end());
}

} // namespace attnprof::bench
