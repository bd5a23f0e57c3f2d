#include "operators/kernels/cpu/kernel.hpp"

#include <fmt/format.h>

namespace attnprof::operators::cpu {
namespace {

/// Kernels of isa/maps.cpp that see nest x rows x columns.
class MapKernel final : public CpuKernel {
 public:
  using Run = void (*)(const RowsArgs&, int, int);
  MapKernel(const PlanContext& context, Run kernel, std::string_view name)
      : run_(kernel), impl_(fmt::format("own {} {}", name, context.table.isa)) {}

  [[nodiscard]] std::string impl() const override { return impl_; }
  void run(int /*phase*/, int share, int shares) const override { run_(args, share, shares); }
  void place_operand(const PlanContext& context, Operand& operand, const View& view) { place(context, operand, view); }

  RowsArgs args;

 private:
  Run run_;
  std::string impl_;
};

/// x [nest, rows, columns] and y [nest, rows of its own, columns]; the nest is what x has in front of its last two.
void walk_maps(MapKernel& kernel, const PlanContext& context, const View& x, const View& y) {
  const Walk walk({x, y}, 2);
  RowsArgs& args = kernel.args;
  args.nest = walk.nest();
  walk.fill(0, args.x);
  walk.fill(1, args.y);
  args.columns = y.dims.back();
  args.x.row = x.strides.back(1);
  args.x.column = x.strides.back();
  args.y.row = y.strides.back(1);
  args.y.column = y.strides.back();
  kernel.place_operand(context, args.x, x);
  kernel.place_operand(context, args.y, y);
}

} // namespace

std::unique_ptr<CpuKernel> plan_gather(const PlanContext& context, const Gather& op) {
  auto kernel = std::make_unique<MapKernel>(context, context.table.gather_rows, "gather");
  walk_maps(*kernel, context, op.x, op.y);
  kernel->args.rows = op.y.dims.back(1);
  kernel->args.table.row = op.index.strides[0];
  kernel->place_operand(context, kernel->args.table, op.index);
  return kernel;
}

namespace {

const char* name_of(Reduce::Kind kind) {
  if (kind == Reduce::Kind::kMax) {
    return "max";
  }
  return kind == Reduce::Kind::kMean ? "mean" : "sum";
}

} // namespace

std::unique_ptr<CpuKernel> plan_reduce(const PlanContext& context, const Reduce& op) {
  auto kernel = std::make_unique<MapKernel>(context, context.table.reduce_rows, name_of(op.kind));
  walk_maps(*kernel, context, op.x, op.y.broadcast(op.y.rank() - 1, 1));
  kernel->args.rows = op.x.dims.back(1);
  kernel->args.take_max = op.kind == Reduce::Kind::kMax;
  kernel->args.factor = op.kind == Reduce::Kind::kMean ? 1.0F / static_cast<float>(op.x.dims.back(1)) : 1.0F;
  return kernel;
}

std::unique_ptr<CpuKernel> plan_cumsum(const PlanContext& context, const CumSum& op) {
  auto kernel = std::make_unique<MapKernel>(context, context.table.cumsum_rows, "cumsum");
  walk_maps(*kernel, context, op.x, op.y);
  kernel->args.rows = op.x.dims.back(1);
  return kernel;
}

std::unique_ptr<CpuKernel> plan_channel_conv1d(const PlanContext& context, const ChannelConv1d& op) {
  auto kernel = std::make_unique<MapKernel>(context, context.table.channel_conv1d, "channel_conv1d");
  walk_maps(*kernel, context, op.x, op.y);
  kernel->args.rows = op.x.dims[0];
  kernel->args.taps = op.w.dims[0];
  kernel->args.gamma.column = op.w.strides[0];
  kernel->place_operand(context, kernel->args.gamma, op.w);
  return kernel;
}

} // namespace attnprof::operators::cpu
