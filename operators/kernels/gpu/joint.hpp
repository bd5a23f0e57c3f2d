#pragma once
#include "operators/core/graph.hpp"
#include "operators/kernels/gpu/plan.hpp"

namespace attnprof::operators::gpu {

/// Several views of equal sizes walked together.
class Joint {
 public:
  /// Leaves the last `inner` dimensions out, and merges neighbours that all views can merge, but none of the last
  /// `apart` of what remains.
  Joint(std::vector<View> views, std::size_t inner, std::size_t apart = 0);

  [[nodiscard]] Space space() const;
  [[nodiscard]] std::size_t rank() const { return views_[0].rank(); }
  [[nodiscard]] const View& view(std::size_t i) const { return views_[i]; }

 private:
  std::vector<View> views_;
};

/// Makes operands of views.
class Binder {
 public:
  Binder(const Graph& graph, const Memory& memory) : graph_(graph), memory_(memory) {}

  /// Address, dtype and the strides of `walked`, which is the view itself or what a Joint made of it.
  [[nodiscard]] Operand operand(const View& view, const View& walked) const;
  [[nodiscard]] Operand operand(const View& view) const { return operand(view, view); }
  /// Steps over [queries, keys] as the last two sizes of `y`; operands get the strides of `walked`, one per step
  /// operand from `first` on.
  [[nodiscard]] StepList steps(const Steps& steps, const View& y, const Joint& walked, std::size_t first) const;
  [[nodiscard]] std::byte* scratch() const { return memory_.scratch; }
  [[nodiscard]] std::int64_t workspace_bytes() const { return memory_.workspace_bytes; }
  [[nodiscard]] DType dtype(const View& view) const { return graph_.tensor(view.tensor).dtype; }

 private:
  const Graph& graph_;
  const Memory& memory_;
};

/// The step operands that the walk of a launch must include.
void add_operands(std::vector<View>& views, const Steps& steps);
/// Whether kWide neighbours along the last dimension of the walk lie together and aligned in every view.
bool is_wide(const Joint& joint, const std::vector<View>& originals, std::size_t output);

LaunchArgs plan(const Binder& binder, const Pointwise& op);
LaunchArgs plan(const Binder& binder, const Copy& op);
LaunchArgs plan(const Binder& binder, const Softmax& op);
LaunchArgs plan(const Binder& binder, const LayerNorm& op);
LaunchArgs plan(const Binder& binder, const Rope& op);
LaunchArgs plan(const Binder& binder, const Gather& op);
LaunchArgs plan(const Binder& binder, const Reduce& op);
LaunchArgs plan(const Binder& binder, const CumSum& op);
LaunchArgs plan(const Binder& binder, const ChannelConv1d& op);
LaunchArgs plan(const Binder& binder, const Pool& op);
LaunchArgs plan(const Binder& binder, const DepthwiseConv2d& op);
LaunchArgs plan(const Binder& binder, const Conv2d& op);
LaunchArgs plan(const Binder& binder, const MatMul& op);
AttentionArgs plan_attention(const Binder& binder, const Attention& op, const DeviceFacts& facts);

} // namespace attnprof::operators::gpu
