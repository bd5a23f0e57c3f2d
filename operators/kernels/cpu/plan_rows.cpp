#include "operators/kernels/cpu/kernel.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace attnprof::operators::cpu {
namespace {

using RowFn = void (*)(const RowsArgs&, int, int);

class RowKernel final : public CpuKernel {
 public:
  RowKernel(const PlanContext& context, RowFn row_fn, const std::string& name)
      : run_(row_fn), impl_(fmt::format("own {} {}", name, context.table.isa)), threads_(context.threads) {}

  [[nodiscard]] std::string impl() const override { return impl_; }
  [[nodiscard]] std::int64_t scratch_bytes() const override { return args_.scratch_stride * threads_; }
  void run(int /*phase*/, int share, int shares) const override { run_(args_, share, shares); }

  RowsArgs& args() { return args_; }
  void set_steps(StepPlan plan) {
    steps_ = std::move(plan);
    args_.steps = steps_.list();
  }
  StepPlan& steps() { return steps_; }
  void place_operand(const PlanContext& context, Operand& operand, const View& view) { place(context, operand, view); }
  void need_scratch(std::int64_t floats) {
    ScratchLayout layout;
    layout.add(floats * 4);
    args_.scratch_stride = layout.stride();
  }

 private:
  void bind_scratch(std::byte* scratch) override { args_.scratch = scratch; }
  RowFn run_;
  std::string impl_;
  int threads_;
  RowsArgs args_;
  StepPlan steps_;
};

/// Fills rows, nest and strides of x and y for kernels that treat the last dimension as a row.
void walk_rows(RowsArgs& args, const View& x, const View& y) {
  Walk walk({x, y}, 1);
  const Walk::Rows rows = walk.take_rows();
  args.rows = rows.count;
  args.columns = y.dims.back();
  args.nest = walk.nest();
  walk.fill(0, args.x);
  walk.fill(1, args.y);
  args.x.row = rows.strides[0];
  args.y.row = rows.strides[1];
  args.x.column = x.strides.back();
  args.y.column = y.strides.back();
}

bool is_plain_row(const PlanContext& context, const View& view) {
  return context.graph.tensor(view.tensor).dtype == DType::kF32 && view.strides.back() == 1;
}

/// Whether rows of this output go past the caches.
bool streams(const PlanContext& context, const View& y) {
  return is_plain_row(context, y) && context.storage[static_cast<std::size_t>(y.tensor)].bytes > stream_bytes();
}

View at_least_matrix(View view) {
  while (view.rank() < 2) {
    view = view.broadcast(0, 1);
  }
  return view;
}

/// Merges neighbouring dimensions that all views can merge, so that rows are as long as they can be.
void merge_all(std::vector<View>& views) {
  for (std::size_t d = views[0].rank() - 1; d-- > 0;) {
    bool mergeable = true;
    for (const View& view : views) {
      mergeable = mergeable && view.mergeable(d);
    }
    if (mergeable) {
      for (View& view : views) {
        view = view.merge(d);
      }
    }
  }
  for (View& view : views) {
    view = at_least_matrix(view);
  }
}

} // namespace

std::unique_ptr<CpuKernel> plan_softmax(const PlanContext& context, const Softmax& op) {
  auto kernel = std::make_unique<RowKernel>(context, context.table.softmax, "softmax");
  RowsArgs& args = kernel->args();
  walk_rows(args, op.x, op.y);
  kernel->place_operand(context, args.x, op.x);
  kernel->place_operand(context, args.y, op.y);
  // Rows that end within a cache line would leave half lines to the streaming stores, which costs more than it saves:
  // as many rows as fill whole lines wait in scratch, where they lie one after another in y.
  constexpr std::int64_t kLineFloats = 16;
  constexpr std::int64_t kMostStaged = std::int64_t{8} << 10;
  const std::int64_t group = kLineFloats / std::gcd(args.columns, kLineFloats);
  const bool dense = args.nest.count == 1 && args.y.row == args.columns && is_plain_row(context, op.x);
  if (group > 1 && dense && group * args.columns <= kMostStaged) {
    args.stage_rows = group;
  }
  args.stream = streams(context, op.y) && (group == 1 || args.stage_rows > 0);
  if (!args.stream) {
    args.stage_rows = 0;
  }
  if (args.stream || !is_plain_row(context, op.y)) {
    kernel->need_scratch(args.columns * std::max<std::int64_t>(args.stage_rows, 1));
  }
  return kernel;
}

std::unique_ptr<CpuKernel> plan_layernorm(const PlanContext& context, const LayerNorm& op) {
  auto kernel = std::make_unique<RowKernel>(context, context.table.layernorm, op.beta ? "layernorm" : "rmsnorm");
  RowsArgs& args = kernel->args();
  walk_rows(args, op.x, op.y);
  args.eps = static_cast<float>(op.eps);
  args.stream = streams(context, op.y);
  kernel->place_operand(context, args.x, op.x);
  kernel->place_operand(context, args.y, op.y);
  kernel->place_operand(context, args.gamma, op.gamma);
  args.gamma.column = op.gamma.strides.back();
  if (op.beta) {
    kernel->place_operand(context, args.beta, *op.beta);
    args.beta.column = op.beta->strides.back();
  }
  kernel->need_scratch(3 * round_up(args.columns, 16));
  return kernel;
}

std::unique_ptr<CpuKernel> plan_rope(const PlanContext& context, const Rope& op) {
  auto kernel = std::make_unique<RowKernel>(context, context.table.rope, "rope");
  RowsArgs& args = kernel->args();
  const Walk walk({op.x, op.y}, 2);
  args.nest = walk.nest();
  walk.fill(0, args.x);
  walk.fill(1, args.y);
  args.rows = op.x.dims.back(1);
  args.columns = op.x.dims.back();
  kernel->place_operand(context, args.x, op.x);
  kernel->place_operand(context, args.y, op.y);
  kernel->place_operand(context, args.table, op.table);
  const std::pair<Operand*, const View*> operands[] = {{&args.x, &op.x}, {&args.y, &op.y}, {&args.table, &op.table}};
  for (const auto& [operand, view] : operands) {
    operand->row = view->strides.back(1);
    operand->column = view->strides.back();
  }
  kernel->need_scratch(2 * round_up(args.columns, 16));
  return kernel;
}

std::unique_ptr<CpuKernel> plan_pointwise(const PlanContext& context, const Pointwise& op) {
  std::string name;
  bool masks = false;
  for (const Step& step : op.steps) {
    name += fmt::format("{}{}", name.empty() ? "" : "+", step_traits(step.fn).name);
    masks |= is_mask(step.fn);
  }
  auto kernel = std::make_unique<RowKernel>(context, context.table.pointwise, name.empty() ? "copy" : name);
  RowsArgs& args = kernel->args();
  const std::int64_t queries = op.y.rank() > 1 ? op.y.dims.back(1) : 1;
  kernel->set_steps(plan_steps(op.steps, queries, op.y.dims.back()));

  std::vector<View> views{op.x, op.y};
  for (const Step& step : op.steps) {
    if (step.operand) {
      views.push_back(*step.operand);
    }
  }
  for (View& view : views) {
    view = at_least_matrix(view);
  }
  if (!masks) { // a mask speaks about the last two dimensions; without one they merge with what they can
    merge_all(views);
  }
  const Walk walk(views, 2);
  args.nest = walk.nest();
  args.rows = views[1].dims.back(1);
  args.columns = views[1].dims.back();
  std::size_t next = 0;
  const auto fill = [&](Operand& operand, const View& original) {
    const View& view = views[next];
    walk.fill(next++, operand);
    operand.row = view.strides.back(1);
    operand.column = view.strides.back();
    kernel->place_operand(context, operand, original);
  };
  fill(args.x, op.x);
  fill(args.y, op.y);
  for (std::size_t s = 0; s < op.steps.size(); ++s) {
    if (op.steps[s].operand) {
      fill(kernel->steps().args[s].operand, *op.steps[s].operand);
    }
  }
  args.stream = streams(context, op.y);
  return kernel;
}

} // namespace attnprof::operators::cpu
