#pragma once
#include "operators/exec/executor.hpp"
#include "operators/kernels/cpu/storage.hpp"

#include <memory>
#include <string>

namespace attnprof::operators::cpu {

/// What a planner knows of the program around its launch.
struct PlanContext {
  const Graph& graph;
  const std::vector<Storage>& storage;
  const KernelTable& table;
  int threads = 1;
  Products products = Products::kByRule;
};

/// One launch made ready. Planned without memory, so that its needs can be counted; bound once; then run without
/// allocating.
class CpuKernel {
 public:
  CpuKernel() = default;
  virtual ~CpuKernel() = default;
  CpuKernel(const CpuKernel&) = delete;
  CpuKernel& operator=(const CpuKernel&) = delete;

  [[nodiscard]] virtual std::string impl() const = 0;
  /// Scratch of all shares together.
  [[nodiscard]] virtual std::int64_t scratch_bytes() const { return 0; }
  /// Phases are separated by a barrier of all shares.
  [[nodiscard]] virtual int phases() const { return 1; }
  virtual void run(int phase, int share, int shares) const = 0;

  /// `tensors` holds the address of each tensor, `scratch` scratch_bytes() aligned to 64.
  void bind(std::span<std::byte* const> tensors, std::byte* scratch);

 protected:
  /// Registers an operand that bind() will give its address. `operand` must stay where it is.
  void place(const PlanContext& context, Operand& operand, const View& view);
  /// The same for the operands of steps on a map [batch, height, width, channels].
  void place_on_map(const PlanContext& context, std::vector<StepArgs>& args, const Steps& steps);
  virtual void bind_scratch(std::byte* /*scratch*/) {}

 private:
  struct Slot {
    Operand* operand;
    TensorId tensor;
    std::int64_t offset_bytes;
  };
  std::vector<Slot> slots_;
};

/// Outputs larger than this bypass the caches, since nothing would be left of them when the next launch reads them: the
/// size of the last-level cache, as the system states it, or 32 MiB.
std::int64_t stream_bytes();

/// Scratch of one share is cut into pieces that start on cache lines.
class ScratchLayout {
 public:
  /// Returns where a piece of this many bytes starts.
  std::int64_t add(std::int64_t bytes);
  /// Distance between shares: whole cache lines, never a multiple of a page, which would put the shares' pieces in one
  /// set.
  [[nodiscard]] std::int64_t stride() const;

 private:
  std::int64_t used_ = 0;
};

/// Outer dimensions of several operands walked together: neighbours that all operands can merge become one.
class Walk {
 public:
  /// `views` have the same dims; the last `inner` dimensions are left out.
  Walk(std::vector<View> views, std::size_t inner);

  /// Moves the last dimension out of the nest, for kernels that loop over rows themselves; 1 where none is left.
  struct Rows {
    std::int64_t count = 1;
    std::vector<std::int64_t> strides; ///< one per view
  };
  Rows take_rows();
  [[nodiscard]] Nest nest() const;
  void fill(std::size_t view, Operand& operand) const;

 private:
  std::vector<View> views_; ///< outer dimensions only
};

/// Steps with the operands' row and column strides from their last two dimensions; outer strides are left to the
/// caller.
struct StepPlan {
  std::vector<StepArgs> args;
  std::vector<RowRange> ranges; ///< of the mask steps, one after another
  [[nodiscard]] StepList list() const { return {args.data(), static_cast<int>(args.size())}; }
};
/// `queries` and `keys` are the last two sizes of what the steps apply to.
StepPlan plan_steps(const Steps& steps, std::int64_t queries, std::int64_t keys);
std::vector<RowRange> mask_ranges(const Mask& mask, std::int64_t queries, std::int64_t keys);

std::unique_ptr<CpuKernel> plan_kernel(const PlanContext& context, const Op& op);
std::unique_ptr<CpuKernel> plan_matmul(const PlanContext& context, const MatMul& op);
std::unique_ptr<CpuKernel> plan_attention(const PlanContext& context, const Attention& op);
std::unique_ptr<CpuKernel> plan_depthwise(const PlanContext& context, const DepthwiseConv2d& op);
std::unique_ptr<CpuKernel> plan_softmax(const PlanContext& context, const Softmax& op);
std::unique_ptr<CpuKernel> plan_layernorm(const PlanContext& context, const LayerNorm& op);
std::unique_ptr<CpuKernel> plan_pointwise(const PlanContext& context, const Pointwise& op);
std::unique_ptr<CpuKernel> plan_copy(const PlanContext& context, const Copy& op);
std::unique_ptr<CpuKernel> plan_conv(const PlanContext& context, const Conv2d& op);
std::unique_ptr<CpuKernel> plan_pool(const PlanContext& context, const Pool& op);
std::unique_ptr<CpuKernel> plan_gather(const PlanContext& context, const Gather& op);
std::unique_ptr<CpuKernel> plan_reduce(const PlanContext& context, const Reduce& op);
std::unique_ptr<CpuKernel> plan_cumsum(const PlanContext& context, const CumSum& op);
std::unique_ptr<CpuKernel> plan_channel_conv1d(const PlanContext& context, const ChannelConv1d& op);
std::unique_ptr<CpuKernel> plan_rope(const PlanContext& context, const Rope& op);

} // namespace attnprof::operators::cpu
