#include "operators/kernels/cpu/kernel.hpp"

#include <fmt/format.h>

namespace attnprof::operators::cpu {
namespace {

class ConvKernel final : public CpuKernel {
 public:
  ConvKernel(const PlanContext& context, const Pool& op) : run_(context.table.pool), threads_(context.threads) {
    set_maps(context, op.x, op.y, op.stride, op.pad);
    args_.kernel_h = args_.kernel_w = op.kernel;
    impl_ = fmt::format("own pool {}", context.table.isa);
  }

  ConvKernel(const PlanContext& context, const Conv2d& op) : run_(context.table.conv), threads_(context.threads) {
    set_maps(context, op.x, op.y, op.stride, op.pad);
    args_.kernel_h = op.w.dims[1];
    args_.kernel_w = op.w.dims[2];
    args_.group_channels = op.w.dims[3];
    args_.groups = op.groups;
    if (!op.w.contiguous()) {
      throw Error(ErrorKind::kUnsupported, fmt::format("the convolution's weights {} are not dense", op.w.shape()));
    }
    place(context, args_.w, op.w);
    plan_epilogue(context, op);
    constexpr std::int64_t kPositions = 4; // as in isa/conv.cpp: output positions that share the weights
    ScratchLayout layout;
    layout.add(round_up(kPositions * args_.kernel_h * args_.kernel_w * args_.group_channels + 16, 16) * 4);
    args_.out_at = layout.add(round_up(kPositions * args_.out_channels, 16) * 4);
    args_.scratch_stride = layout.stride();
    impl_ = fmt::format("own conv {}", context.table.isa);
  }

  [[nodiscard]] std::string impl() const override { return impl_; }
  [[nodiscard]] std::int64_t scratch_bytes() const override { return args_.scratch_stride * threads_; }
  void run(int /*phase*/, int share, int shares) const override { run_(args_, share, shares); }

 private:
  void set_maps(const PlanContext& context, const View& x, const View& y, std::int64_t stride, std::int64_t pad) {
    args_.batch = y.dims[0];
    args_.height = x.dims[1];
    args_.width = x.dims[2];
    args_.out_height = y.dims[1];
    args_.out_width = y.dims[2];
    args_.out_channels = y.dims[3];
    args_.stride = stride;
    args_.pad = pad;
    for (std::size_t i = 0; i < 4; ++i) {
      args_.x_stride[i] = x.strides[i];
      args_.y_stride[i] = y.strides[i];
    }
    args_.x.column = x.strides[3];
    args_.y.column = y.strides[3];
    place(context, args_.x, x);
    place(context, args_.y, y);
  }

  void plan_epilogue(const PlanContext& context, const Conv2d& op) {
    steps_ = plan_steps(op.epilogue, op.y.dims[2], op.y.dims[3]);
    place_on_map(context, steps_.args, op.epilogue);
    args_.steps = steps_.list();
  }

  void bind_scratch(std::byte* scratch) override { args_.scratch = scratch; }

  ConvArgs args_;
  StepPlan steps_;
  void (*run_)(const ConvArgs&, int, int);
  int threads_;
  std::string impl_;
};

} // namespace

std::unique_ptr<CpuKernel> plan_pool(const PlanContext& context, const Pool& op) {
  return std::make_unique<ConvKernel>(context, op);
}
std::unique_ptr<CpuKernel> plan_conv(const PlanContext& context, const Conv2d& op) {
  return std::make_unique<ConvKernel>(context, op);
}

} // namespace attnprof::operators::cpu
