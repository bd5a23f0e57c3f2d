#include "profilers/gpu/metric_plan.hpp"

#include <algorithm>
#include <cmath>

namespace attnprof::profilers {
namespace {

using operators::DType;

/// One way to count a quantity: base names and what an event of each is worth.
struct MetricCandidate {
  std::vector<std::pair<const char*, double>> terms;
};
struct QuantityRow {
  GpuQuantity quantity;
  std::vector<MetricCandidate> candidates; ///< the first that the chip has whole
};

// Names and factors as Nsight Compute's rooflines count them: a fused multiply-add is two operations; halves and the
// paired f32 of Blackwell come two to an instruction. Bytes of L2 and L1 are those of the hierarchical roofline, both
// directions; L1 sees no traffic of the tensor memory accelerator.
std::vector<QuantityRow> vector_rows() {
  return {
      {GpuQuantity::kDramBytes,
       {{{{"dram__bytes_read", 1}, {"dram__bytes_write", 1}}},
        {{{"dram__bytes_op_read", 1}, {"dram__bytes_op_write", 1}}}}},
      {GpuQuantity::kL2Bytes, {{{{"lts__t_bytes", 1}}}}},
      {GpuQuantity::kL1Bytes, {{{{"l1tex__t_bytes", 1}}}}},
      {GpuQuantity::kFp32Ops,
       {{{{"sm__sass_thread_inst_executed_op_fadd_pred_on", 1},
          {"sm__sass_thread_inst_executed_op_fmul_pred_on", 1},
          {"sm__sass_thread_inst_executed_op_ffma_pred_on", 2},
          {"sm__sass_thread_inst_executed_op_fadd2_pred_on", 2},
          {"sm__sass_thread_inst_executed_op_fmul2_pred_on", 2},
          {"sm__sass_thread_inst_executed_op_ffma2_pred_on", 4}}},
        {{{"sm__sass_thread_inst_executed_op_fadd_pred_on", 1},
          {"sm__sass_thread_inst_executed_op_fmul_pred_on", 1},
          {"sm__sass_thread_inst_executed_op_ffma_pred_on", 2}}}}},
      {GpuQuantity::kFp16Ops,
       {{{{"sm__sass_thread_inst_executed_op_hadd_pred_on", 2},
          {"sm__sass_thread_inst_executed_op_hmul_pred_on", 2},
          {"sm__sass_thread_inst_executed_op_hfma_pred_on", 4}}}}},
      {GpuQuantity::kFp64Ops,
       {{{{"sm__sass_thread_inst_executed_op_dadd_pred_on", 1},
          {"sm__sass_thread_inst_executed_op_dmul_pred_on", 1},
          {"sm__sass_thread_inst_executed_op_dfma_pred_on", 2}}}}},
  };
}

QuantityRow tensor_row(DType dtype) {
  if (dtype == DType::kF32) { // only of products in tf32
    // On GB100 the plain name takes two passes of its own. The name that may also be sampled while a kernel runs is
    // described as the same count, and shares a pass.
    return {GpuQuantity::kTensorOps,
            {{{{"sm__ops_path_tensor_src_tf32_dst_fp32_realtime", 1}}},
             {{{"sm__ops_path_tensor_src_tf32_dst_fp32", 1}}},
             {{{"sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32", 1}}}}};
  }
  if (dtype == DType::kBf16) {
    return {GpuQuantity::kTensorOps, {{{{"sm__ops_path_tensor_src_bf16_dst_fp32", 1}}}}};
  }
  // Every product here accumulates in 32 bits; results in 16 would take a pass more. On GH100 the two dense parts share
  // a pass, their sum does not.
  return {GpuQuantity::kTensorOps,
          {{{{"sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off", 1},
             {"sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32_sparsity_off", 1}}},
           {{{"sm__ops_path_tensor_src_fp16_dst_fp32", 1}}},
           {{{"sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32", 1}}}}};
}

/// A warp instruction of the unit that computes exp, rsqrt, sin and their kin works on 32 threads.
QuantityRow exp_row() {
  return {GpuQuantity::kExpInstructions, {{{{"sm__inst_executed_pipe_xu", 32}}}}};
}

bool has(const std::vector<std::string>& names, const char* name) {
  return std::binary_search(names.begin(), names.end(), std::string(name));
}

} // namespace

std::string_view name_of(GpuQuantity quantity) {
  switch (quantity) {
  case GpuQuantity::kDramBytes: return "gpu_dram_bytes";
  case GpuQuantity::kL2Bytes: return "l2_bytes";
  case GpuQuantity::kL1Bytes: return "l1_bytes";
  case GpuQuantity::kTensorOps: return "tensor_ops";
  case GpuQuantity::kFp32Ops: return "fp32_ops";
  case GpuQuantity::kFp16Ops: return "fp16_ops";
  case GpuQuantity::kFp64Ops: return "fp64_ops";
  case GpuQuantity::kExpInstructions: return "exp_instructions";
  }
  return "";
}

std::vector<std::string> MetricPlan::metrics() const {
  std::vector<std::string> out;
  for (const PlannedQuantity& planned : quantities) {
    for (const MetricTerm& term : planned.terms) {
      out.push_back(term.metric);
    }
  }
  return out;
}

MetricPlan plan_metrics(const std::vector<std::string>& base_names, DType dtype, operators::ProductMath math) {
  std::vector<QuantityRow> rows = vector_rows();
  MetricPlan plan;
  if (dtype == DType::kF32 && math == operators::ProductMath::kF32) {
    rows.push_back(exp_row());
    plan.absent.emplace_back(GpuQuantity::kTensorOps, "f32 is multiplied without tensor cores");
  } else {
    rows.push_back(tensor_row(dtype));
    plan.absent.emplace_back(GpuQuantity::kExpInstructions, "beside tensor operations it takes a third pass");
  }
  for (const QuantityRow& row : rows) {
    const auto whole =
        std::find_if(row.candidates.begin(), row.candidates.end(), [&](const MetricCandidate& candidate) {
          return std::all_of(candidate.terms.begin(), candidate.terms.end(),
                             [&](const auto& term) { return has(base_names, term.first); });
        });
    if (whole == row.candidates.end()) {
      plan.absent.emplace_back(row.quantity, "this chip has no metric for it");
      continue;
    }
    PlannedQuantity planned{row.quantity, {}};
    for (const auto& [name, factor] : whole->terms) {
      planned.terms.push_back({std::string(name) + ".sum", factor});
    }
    plan.quantities.push_back(std::move(planned));
  }
  return plan;
}

GpuCounts evaluate(const MetricPlan& plan, const std::vector<double>& values) {
  GpuCounts out;
  std::size_t next = 0;
  for (const PlannedQuantity& planned : plan.quantities) {
    double sum = 0;
    for (const MetricTerm& term : planned.terms) {
      sum += next < values.size() ? term.factor * values[next] : std::nan("");
      ++next;
    }
    if (std::isfinite(sum)) {
      out.values[static_cast<std::size_t>(planned.quantity)] = sum;
    }
  }
  return out;
}

GpuCounts operator+(const GpuCounts& a, const GpuCounts& b) {
  GpuCounts out;
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    if (a.values[i] && b.values[i]) {
      out.values[i] = *a.values[i] + *b.values[i];
    }
  }
  return out;
}

std::optional<double> all_ops(const GpuCounts& counts) {
  const auto fp32 = counts.of(GpuQuantity::kFp32Ops);
  if (!fp32) {
    return std::nullopt;
  }
  double sum = *fp32;
  for (const GpuQuantity other : {GpuQuantity::kTensorOps, GpuQuantity::kFp16Ops, GpuQuantity::kFp64Ops}) {
    sum += counts.of(other).value_or(0); // of f32 cases tensor cores run none, and are not counted
  }
  return sum;
}

} // namespace attnprof::profilers
