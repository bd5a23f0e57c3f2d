#include "operators/kernels/cpu/kernel.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>

namespace attnprof::operators::cpu {

void CpuKernel::bind(std::span<std::byte* const> tensors, std::byte* scratch) {
  for (const Slot& slot : slots_) {
    slot.operand->address = tensors[static_cast<std::size_t>(slot.tensor)] + slot.offset_bytes;
  }
  bind_scratch(scratch);
}

void CpuKernel::place(const PlanContext& context, Operand& operand, const View& view) {
  const DType dtype = context.graph.tensor(view.tensor).dtype;
  operand.bf16 = dtype == DType::kBf16;
  slots_.push_back({&operand, view.tensor, view.offset * size_bytes(dtype)});
}

void CpuKernel::place_on_map(const PlanContext& context, std::vector<StepArgs>& args, const Steps& steps) {
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (const std::optional<View>& view = steps[s].operand) {
      args[s].operand.outer[0] = view->strides[0];
      args[s].operand.outer[1] = view->strides[1];
      place(context, args[s].operand, *view);
    }
  }
}

std::int64_t stream_bytes() {
  static const std::int64_t kBytes = [] {
    std::int64_t largest_kib = 0;
    for (int index = 0; index < 8; ++index) {
      std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
      std::int64_t kib = 0;
      if (file >> kib) { // "32768K"
        largest_kib = std::max(largest_kib, kib);
      }
    }
    return largest_kib > 0 ? largest_kib * 1024 : std::int64_t{32} << 20;
  }();
  return kBytes;
}

std::int64_t ScratchLayout::add(std::int64_t bytes) {
  const std::int64_t at = used_;
  used_ += round_up(bytes, 64);
  return at;
}

std::int64_t ScratchLayout::stride() const {
  return used_ == 0 ? 0 : round_up(used_, 4096) + 576;
}

Walk::Walk(std::vector<View> views, std::size_t inner) : views_(std::move(views)) {
  for (View& view : views_) {
    for (std::size_t i = 0; i < inner; ++i) {
      view.dims.erase(view.dims.size() - 1);
      view.strides.erase(view.strides.size() - 1);
    }
  }
  for (std::size_t d = views_[0].rank(); d-- > 0;) {
    const bool single = views_[0].dims[d] == 1;
    bool merge = d + 1 < views_[0].rank();
    for (const View& view : views_) {
      merge = merge && view.mergeable(d);
    }
    for (View& view : views_) {
      if (single) {
        view.dims.erase(d);
        view.strides.erase(d);
      } else if (merge) {
        view = view.merge(d);
      }
    }
  }
}

Walk::Rows Walk::take_rows() {
  Rows out;
  out.strides.assign(views_.size(), 0);
  if (views_[0].rank() == 0) {
    return out;
  }
  out.count = views_[0].dims.back();
  for (std::size_t i = 0; i < views_.size(); ++i) {
    View& view = views_[i];
    out.strides[i] = view.strides.back();
    view.dims.erase(view.rank() - 1);
    view.strides.erase(view.strides.size() - 1);
  }
  return out;
}

Nest Walk::nest() const {
  Nest out;
  out.rank = static_cast<int>(views_[0].rank());
  for (std::size_t d = 0; d < views_[0].rank(); ++d) {
    out.dims[d] = views_[0].dims[d];
    out.count *= out.dims[d];
  }
  return out;
}

void Walk::fill(std::size_t view, Operand& operand) const {
  for (std::size_t d = 0; d < views_[view].rank(); ++d) {
    operand.outer[d] = views_[view].strides[d];
  }
}

std::vector<RowRange> mask_ranges(const Mask& mask, std::int64_t queries, std::int64_t keys) {
  std::vector<RowRange> out;
  out.reserve(static_cast<std::size_t>(queries));
  for (std::int64_t i = 0; i < queries; ++i) {
    out.push_back({mask.first_key(i, queries, keys), mask.end_key(i, queries, keys)});
  }
  return out;
}

StepPlan plan_steps(const Steps& steps, std::int64_t queries, std::int64_t keys) {
  StepPlan plan;
  std::size_t masks = 0;
  for (const Step& step : steps) {
    masks += is_mask(step.fn) ? 1 : 0;
  }
  plan.ranges.reserve(masks * static_cast<std::size_t>(queries)); // addresses into it are kept
  for (const Step& step : steps) {
    StepArgs args;
    args.fn = step.fn;
    args.value = static_cast<float>(step.value);
    args.queries = queries;
    if (step.operand && step.operand->rank() > 0) {
      args.operand.column = step.operand->strides.back();
      args.operand.row = step.operand->rank() > 1 ? step.operand->strides.back(1) : 0;
    }
    if (is_mask(step.fn)) {
      const std::vector<RowRange> ranges = mask_ranges(step.mask, queries, keys);
      args.ranges = plan.ranges.data() + plan.ranges.size();
      plan.ranges.insert(plan.ranges.end(), ranges.begin(), ranges.end());
    }
    plan.args.push_back(args);
  }
  return plan;
}

std::unique_ptr<CpuKernel> plan_kernel(const PlanContext& context, const Op& op) {
  return std::visit(Overloaded{[&](const MatMul& p) { return plan_matmul(context, p); },
                               [&](const Softmax& p) { return plan_softmax(context, p); },
                               [&](const Attention& p) { return plan_attention(context, p); },
                               [&](const Pointwise& p) { return plan_pointwise(context, p); },
                               [&](const LayerNorm& p) { return plan_layernorm(context, p); },
                               [&](const DepthwiseConv2d& p) { return plan_depthwise(context, p); },
                               [&](const Conv2d& p) { return plan_conv(context, p); },
                               [&](const Pool& p) { return plan_pool(context, p); },
                               [&](const Gather& p) { return plan_gather(context, p); },
                               [&](const Reduce& p) { return plan_reduce(context, p); },
                               [&](const CumSum& p) { return plan_cumsum(context, p); },
                               [&](const ChannelConv1d& p) { return plan_channel_conv1d(context, p); },
                               [&](const Copy& p) { return plan_copy(context, p); },
                               [&](const Rope& p) { return plan_rope(context, p); }},
                    op.primitive);
}

} // namespace attnprof::operators::cpu
