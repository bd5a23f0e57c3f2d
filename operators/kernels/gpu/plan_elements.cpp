#include "operators/kernels/gpu/joint.hpp"

// Launches that go over a space element by element: chains, copies, rotary embedding, gathers, sums.
namespace attnprof::operators::gpu {
namespace {

bool has_mask(const Steps& steps) {
  for (const Step& step : steps) {
    if (is_mask(step.fn) && step.mask.any()) {
      return true;
    }
  }
  return false;
}

View at_least_matrix(View view) {
  while (view.rank() < 2) {
    view = view.broadcast(0, 1);
  }
  return view;
}

void set_strides(Operand& operand, const View& view, std::size_t count) {
  for (std::size_t d = 0; d < count; ++d) {
    operand.strides[d] = view.strides[d];
  }
}

/// Dimensions in the order of the output's strides, so that its lines are written in one piece.
void order_by_output(View& x, View& y) {
  for (std::size_t i = 0; i < y.rank(); ++i) {
    for (std::size_t j = i; j > 0 && y.strides[j - 1] < y.strides[j]; --j) {
      x = x.transpose(j - 1, j);
      y = y.transpose(j - 1, j);
    }
  }
}

/// The dimension along which the input is dense, where that is not the last; rank where there is none.
std::size_t transposed_dimension(const View& x, const View& y) {
  const std::size_t last = x.rank() - 1;
  if (y.strides[last] != 1 || x.strides[last] == 1 || x.strides[last] == 0) {
    return x.rank();
  }
  for (std::size_t d = 0; d < last; ++d) {
    if (x.strides[d] == 1 && x.dims[d] > 1) {
      return d;
    }
  }
  return x.rank();
}

} // namespace

LaunchArgs plan(const Binder& binder, const Pointwise& op) {
  std::vector<View> views{op.x, op.y};
  add_operands(views, op.steps);
  for (View& view : views) {
    view = at_least_matrix(view);
  }
  const bool masked = has_mask(op.steps);
  const Joint joint(views, 0, masked ? 2 : 0);
  ElementwiseArgs args;
  args.space = joint.space();
  args.x = binder.operand(op.x, joint.view(0));
  args.y = binder.operand(op.y, joint.view(1));
  args.steps = binder.steps(op.steps, op.y, joint, 2);
  args.wide = is_wide(joint, views, 1);
  return args;
}

LaunchArgs plan(const Binder& binder, const Copy& op) {
  View x = op.x;
  View y = op.y;
  order_by_output(x, y);
  const Joint joint({x, y}, 0);
  const View& from = joint.view(0);
  const View& to = joint.view(1);
  const std::size_t across = joint.rank() > 1 ? transposed_dimension(from, to) : joint.rank();
  if (across < joint.rank()) {
    View x_tiles = from.transpose(across, joint.rank() - 2);
    View y_tiles = to.transpose(across, joint.rank() - 2);
    TransposeArgs args;
    const Joint outer({x_tiles, y_tiles}, 2);
    args.outer = outer.space();
    args.rows = x_tiles.dims.back(1);
    args.columns = x_tiles.dims.back();
    args.x = binder.operand(op.x, outer.view(0));
    args.y = binder.operand(op.y, outer.view(1));
    args.x_column = x_tiles.strides.back();
    args.y_row = y_tiles.strides.back(1);
    return args;
  }
  ElementwiseArgs args;
  args.space = joint.space();
  args.x = binder.operand(op.x, from);
  args.y = binder.operand(op.y, to);
  args.wide = is_wide(joint, {x, y}, 1);
  return args;
}

LaunchArgs plan(const Binder& binder, const Rope& op) {
  const std::int64_t half = op.x.dims.back() / 2;
  const std::size_t last = op.x.rank() - 1;
  View x = op.x.slice(last, 0, half);
  View y = op.y.slice(last, 0, half);
  View table = op.table.slice(1, 0, half);
  const std::int64_t table_half = half * op.table.strides[1];
  for (std::size_t d = 0; d + 2 < op.x.rank(); ++d) {
    table = table.broadcast(d, op.x.dims[d]);
  }
  const Joint joint({x, y, table}, 0);
  RopeArgs args;
  args.space = joint.space();
  args.x = binder.operand(x, joint.view(0));
  args.y = binder.operand(y, joint.view(1));
  args.table = binder.operand(table, joint.view(2));
  args.x_half = half * op.x.strides.back();
  args.y_half = half * op.y.strides.back();
  args.table_half = table_half;
  args.wide = is_wide(joint, {x, y, table}, 1) && args.x_half % kWide == 0 && args.y_half % kWide == 0 &&
              table_half % kWide == 0;
  return args;
}

LaunchArgs plan(const Binder& binder, const Gather& op) {
  // Only the dimensions in front of the gathered one are merged; x stands still along it.
  View x = op.x;
  const std::size_t row = op.y.rank() - 2;
  x.dims[row] = op.y.dims[row];
  x.strides[row] = 0;
  const Joint joint({x, op.y}, 0, 2);
  GatherArgs args;
  args.space = joint.space();
  args.row_dim = static_cast<int>(joint.rank()) - 2;
  args.x = binder.operand(op.x, joint.view(0));
  args.y = binder.operand(op.y, joint.view(1));
  args.index = binder.operand(op.index);
  args.x_row = op.x.strides[row];
  args.wide = is_wide(joint, {x, op.y}, 1) && args.x_row % kWide == 0;
  return args;
}

LaunchArgs plan(const Binder& binder, const Reduce& op) {
  const View x = op.x.select(op.x.rank() - 2, 0);
  const Joint joint({x, op.y}, 1);
  ReduceArgs args;
  args.kind = op.kind;
  args.outer = joint.space();
  args.rows = op.x.dims.back(1);
  args.columns = op.y.dims.back();
  args.x = binder.operand(op.x, joint.view(0));
  args.y = binder.operand(op.y, joint.view(1));
  args.x_row = op.x.strides.back(1);
  args.x_column = op.x.strides.back();
  args.y_column = op.y.strides.back();
  return args;
}

LaunchArgs plan(const Binder& binder, const CumSum& op) {
  const std::size_t group = op.x.rank() - 2;
  const View x = op.x.select(group, 0);
  const View y = op.y.select(group, 0);
  const Joint joint({x, y}, 0);
  CumSumArgs args;
  args.space = joint.space();
  args.groups = op.x.dims[group];
  args.x = binder.operand(op.x, joint.view(0));
  args.y = binder.operand(op.y, joint.view(1));
  args.x_group = op.x.strides[group];
  args.y_group = op.y.strides[group];
  return args;
}

LaunchArgs plan(const Binder& binder, const ChannelConv1d& op) {
  ChannelConvArgs args;
  args.space.rank = 2;
  for (std::size_t d = 0; d < 2; ++d) {
    args.space.dims[d] = op.y.dims[d];
    args.space.count *= op.y.dims[d];
  }
  args.taps = op.w.dims[0];
  args.x = binder.operand(op.x);
  args.y = binder.operand(op.y);
  set_strides(args.w = binder.operand(op.w), op.w, 1);
  return args;
}

} // namespace attnprof::operators::gpu
