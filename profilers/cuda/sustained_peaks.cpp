#include "profilers/cuda/sustained_peaks.hpp"

#include "operators/core/error.hpp"
#include "profilers/cuda/metric_catalog.hpp"
#include "profilers/cuda/range_counter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace attnprof::profilers::cuda {
namespace {

struct Candidate {
  std::string_view what;
  std::string_view base;
  double factor;
};

// The first base of each name that the chip has. A fused multiply-add is two operations, a warp instruction of the unit
// for exp and its kin works on 32 threads. On GH100 tensor cores reach their peak through the warp-group instructions.
constexpr std::array<Candidate, 11> kCandidates = {{
    {"fma f32", "sm__sass_thread_inst_executed_op_ffma2_pred_on", 4},
    {"fma f32", "sm__sass_thread_inst_executed_op_ffma_pred_on", 2},
    {"exp f32", "sm__inst_executed_pipe_xu", 32},
    {"tensor bf16", "sm__ops_path_tensor_src_bf16_dst_fp32", 1},
    {"tensor f16", "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off", 1},
    {"tensor f16", "sm__ops_path_tensor_src_fp16_dst_fp32", 1},
    {"tensor tf32", "sm__ops_path_tensor_src_tf32_dst_fp32", 1},
    {"L2", "lts__t_bytes", 1},
    {"DRAM", "dram__bytes", 1},
    {"DRAM", "dram__bytes_op_read", 1},
    {"DRAM", "dram__bytes_read", 1},
}};
constexpr std::string_view kPeak = ".sum.peak_sustained_elapsed.per_second";

} // namespace

std::vector<SustainedMetric> sustained_metrics(const std::vector<std::string>& base_names) {
  std::vector<SustainedMetric> out;
  for (const Candidate& one : kCandidates) {
    const bool known = std::any_of(out.begin(), out.end(), [&](const auto& other) { return other.what == one.what; });
    if (!known && std::binary_search(base_names.begin(), base_names.end(), one.base)) {
      out.push_back({std::string(one.what), fmt::format("{}{}", one.base, kPeak), one.factor});
    }
  }
  return out;
}

void add_sustained_peaks(operators::gpu::DeviceCeilings& out, CUctx_st* context, const std::string& chip,
                         const std::function<void()>& run) {
  std::vector<SustainedMetric> asked;
  std::vector<std::string> metrics;
  try {
    asked = sustained_metrics(metric_names(chip));
  } catch (const operators::Error& error) {
    out.sustained_refusal = error.what();
    return;
  }
  for (const SustainedMetric& one : asked) {
    metrics.push_back(one.metric);
  }
  const operators::gpu::CounterReport report =
      count_ranges(context, chip, metrics, 1, [&](std::size_t /*launch*/) { run(); });
  out.sustained_refusal = report.refusal;
  for (std::size_t i = 0; report.refusal.empty() && i < asked.size(); ++i) {
    const double value = report.values.at(0).size() > i ? report.values[0][i] : std::nan("");
    if (std::isfinite(value) && value > 0) {
      out.sustained.push_back(
          {asked[i].what, asked[i].factor * value,
           fmt::format("CUPTI, {}{}", asked[i].factor == 1 ? "" : fmt::format("{} x ", asked[i].factor),
                       asked[i].metric)});
    }
  }
}

} // namespace attnprof::profilers::cuda
