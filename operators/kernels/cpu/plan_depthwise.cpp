#include "operators/kernels/cpu/kernel.hpp"

#include <bit>
#include <fmt/format.h>

namespace attnprof::operators::cpu {
namespace {

class DepthwiseKernel final : public CpuKernel {
 public:
  DepthwiseKernel(const PlanContext& context, const DepthwiseConv2d& op)
      : run_(context.table.depthwise), threads_(context.threads) {
    args_.batch = op.y.dims[0];
    args_.height = op.x.dims[1];
    args_.width = op.x.dims[2];
    args_.out_height = op.y.dims[1];
    args_.out_width = op.y.dims[2];
    args_.channels = op.y.dims[3];
    args_.kernel_h = op.w.dims[1];
    args_.kernel_w = op.w.dims[2];
    args_.stride = op.stride;
    args_.pad = op.pad;
    for (std::size_t i = 0; i < 4; ++i) {
      args_.x_stride[i] = op.x.strides[i];
      args_.y_stride[i] = op.y.strides[i];
    }
    const bool f32 = context.graph.tensor(op.x.tensor).dtype == DType::kF32 &&
                     context.graph.tensor(op.y.tensor).dtype == DType::kF32;
    args_.stream = f32 && op.y.elements() * 4 > Count(stream_bytes());
    // Between the second-level cache and DRAM only reading in order keeps the prefetchers at work: rows are copied
    // first.
    args_.in_place = args_.stream || (op.x.elements() + op.y.elements()) * 4 < Count(stream_bytes() / 4);
    place(context, x_, op.x);
    place(context, y_, op.y);
    place(context, taps_, op.w);
    packed_ = context.storage[static_cast<std::size_t>(op.w.tensor)].kind == Storage::Kind::kTaps;
    taps_.outer[0] = op.w.strides[1];
    taps_.row = op.w.strides[2];
    taps_.column = op.w.strides[0];
    plan_epilogue(context, op);
    plan_scratch();
    impl_ = fmt::format("own depthwise {}", context.table.isa);
  }

  [[nodiscard]] std::string impl() const override { return impl_; }
  [[nodiscard]] std::int64_t scratch_bytes() const override { return args_.scratch_stride * threads_ + taps_bytes_; }
  [[nodiscard]] int phases() const override { return packed_ ? 1 : 2; }
  void run(int phase, int share, int shares) const override {
    if (!packed_ && phase == 0) {
      gather_taps(share, shares);
      return;
    }
    run_(args_, share, shares);
  }

 private:
  void plan_epilogue(const PlanContext& context, const DepthwiseConv2d& op) {
    steps_ = plan_steps(op.epilogue, op.y.dims[2], op.y.dims[3]);
    place_on_map(context, steps_.args, op.epilogue);
    args_.steps = steps_.list();
  }

  void plan_scratch() {
    const std::int64_t tap_count = args_.kernel_h * args_.kernel_w * args_.channels;
    ScratchLayout layout;
    layout.add(round_up(tap_count, 16) * 4);
    layout.add(round_up(args_.channels, 16) * 4);
    layout.add(round_up(args_.out_width * args_.channels, 16) * 4);
    layout.add(args_.kernel_h * (args_.width + 2 * args_.pad) * args_.channels * 4);
    args_.scratch_stride = layout.stride();
    taps_bytes_ = packed_ ? 0 : round_up(tap_count * 4, 64);
  }

  void bind_scratch(std::byte* scratch) override {
    args_.x = x_.address;
    args_.x_bf16 = x_.bf16;
    args_.y = y_.address;
    args_.y_bf16 = y_.bf16;
    args_.taps = packed_ ? taps_.address : scratch;
    args_.taps_bf16 = packed_ && taps_.bf16;
    args_.scratch = scratch + taps_bytes_;
  }

  /// Weights that lie as [channels, kernel, kernel] are brought to [taps][channels] before each run.
  void gather_taps(int share, int shares) const {
    const std::int64_t channels = args_.channels;
    auto* out = reinterpret_cast<float*>(const_cast<std::byte*>(args_.taps));
    for (std::int64_t c = channels * share / shares; c < channels * (share + 1) / shares; ++c) {
      for (std::int64_t u = 0; u < args_.kernel_h; ++u) {
        for (std::int64_t v = 0; v < args_.kernel_w; ++v) {
          const std::int64_t at = u * taps_.outer[0] + v * taps_.row + c * taps_.column;
          out[(u * args_.kernel_w + v) * channels + c] =
              taps_.bf16 ? widen(reinterpret_cast<const std::uint16_t*>(taps_.address)[at])
                         : reinterpret_cast<const float*>(taps_.address)[at];
        }
      }
    }
  }
  static float widen(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }

  DepthwiseArgs args_;
  Operand x_, y_, taps_;
  StepPlan steps_;
  bool packed_ = false;
  std::int64_t taps_bytes_ = 0;
  void (*run_)(const DepthwiseArgs&, int, int);
  int threads_;
  std::string impl_;
};

} // namespace

std::unique_ptr<CpuKernel> plan_depthwise(const PlanContext& context, const DepthwiseConv2d& op) {
  return std::make_unique<DepthwiseKernel>(context, op);
}

} // namespace attnprof::operators::cpu
