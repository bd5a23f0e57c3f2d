#include "operators/kernels/gpu/joint.hpp"

namespace attnprof::operators::gpu {
namespace {

Space space_of(const View& view) {
  Space out;
  out.rank = static_cast<int>(view.rank());
  for (std::size_t d = 0; d < view.rank(); ++d) {
    out.dims[d] = view.dims[d];
    out.count *= view.dims[d];
  }
  return out;
}

/// Steps on a map: their operands keep the four dimensions of it.
StepList map_steps(const Binder& binder, const Steps& steps, const View& y) {
  std::vector<View> views{y};
  add_operands(views, steps);
  return binder.steps(steps, y, Joint(views, 0, y.rank()), 1);
}

template <class Op>
ConvArgs map_of(const Binder& binder, const Op& op, ConvArgs::Kind kind) {
  ConvArgs args;
  args.kind = kind;
  args.space = space_of(op.y);
  args.height = op.x.dims[1];
  args.width = op.x.dims[2];
  args.stride = op.stride;
  args.pad = op.pad;
  args.x = binder.operand(op.x);
  args.y = binder.operand(op.y);
  return args;
}

bool is_product(const Conv2d& op) {
  return op.w.dims[1] == 1 && op.w.dims[2] == 1 && op.stride == 1 && op.pad == 0 && op.groups == 1;
}

} // namespace

LaunchArgs plan(const Binder& binder, const Pool& op) {
  ConvArgs args = map_of(binder, op, ConvArgs::Kind::kPool);
  args.kernel_h = args.kernel_w = op.kernel;
  return args;
}

LaunchArgs plan(const Binder& binder, const DepthwiseConv2d& op) {
  ConvArgs args = map_of(binder, op, ConvArgs::Kind::kDepthwise);
  args.kernel_h = op.w.dims[1];
  args.kernel_w = op.w.dims[2];
  args.w = binder.operand(op.w);
  args.steps = map_steps(binder, op.epilogue, op.y);
  return args;
}

LaunchArgs plan(const Binder& binder, const Conv2d& op) {
  if (is_product(op)) {
    // A 1x1 convolution multiplies each position's channels by the weights: a product with the library's kernels.
    const View x = op.x;
    MatMul product;
    product.a = x;
    product.b = op.w.select(1, 0).select(1, 0).transpose(0, 1); // [in, out]
    for (std::size_t d = 0; d < 2; ++d) {
      product.b = product.b.broadcast(d, op.y.dims[d]);
    }
    product.c = op.y;
    product.epilogue = op.epilogue;
    return plan(binder, product);
  }
  ConvArgs args = map_of(binder, op, ConvArgs::Kind::kDense);
  args.kernel_h = op.w.dims[1];
  args.kernel_w = op.w.dims[2];
  args.groups = op.groups;
  args.group_channels = op.w.dims[3];
  args.w = binder.operand(op.w);
  args.steps = map_steps(binder, op.epilogue, op.y);
  return args;
}

LaunchArgs plan(const Binder& binder, const MatMul& op) {
  // Batch dimensions that b does not vary over become rows where the memory allows it: one large product in place of
  // many small ones.
  View a = op.a;
  View b = op.b;
  View c = op.c;
  Steps steps = op.epilogue;
  const std::int64_t queries = c.dims.back(1);
  bool masked = false;
  for (const Step& step : steps) {
    masked |= is_mask(step.fn) && step.mask.any();
  }
  while (!masked && c.rank() > 2) {
    const std::size_t d = c.rank() - 3;
    bool merge = (b.strides[d] == 0 || b.dims[d] == 1) && a.mergeable(d) && c.mergeable(d);
    for (const Step& step : steps) {
      merge = merge && (!step.operand || step.operand->mergeable(d));
    }
    if (!merge) {
      break;
    }
    a = a.merge(d);
    c = c.merge(d);
    b = b.select(d, 0);
    for (Step& step : steps) {
      if (step.operand) {
        step.operand = step.operand->merge(d);
      }
    }
  }
  std::vector<View> views{c};
  add_operands(views, steps);
  // The batch of a, b and c is walked jointly with that of the operands; rows and columns stay apart.
  std::vector<View> batches{a, b, c};
  batches.insert(batches.end(), views.begin() + 1, views.end());
  for (View& view : batches) {
    view.dims[view.rank() - 2] = 1; // sizes differ between a, b and c; only their batch is walked
    view.dims[view.rank() - 1] = 1;
  }
  const Joint joint(batches, 0, 2);
  const std::size_t batch_rank = joint.rank() - 2;
  ProductArgs args;
  args.batch.rank = static_cast<int>(batch_rank);
  for (std::size_t d = 0; d < batch_rank; ++d) {
    args.batch.dims[d] = joint.view(0).dims[d];
    args.batch.count *= args.batch.dims[d];
  }
  args.m = c.dims.back(1);
  args.n = c.dims.back();
  args.k = a.dims.back();
  args.a = binder.operand(op.a, joint.view(0));
  args.b = binder.operand(op.b, joint.view(1));
  args.c = binder.operand(op.c, joint.view(2));
  args.a_row = a.strides.back(1);
  args.a_column = a.strides.back();
  args.b_row = b.strides.back(1);
  args.b_column = b.strides.back();
  args.c_row = c.strides.back(1);
  args.c_column = c.strides.back();
  args.steps = binder.steps(steps, c, joint, 3);
  args.steps.queries = queries;
  args.workspace = binder.scratch();
  args.workspace_bytes = binder.workspace_bytes();
  return args;
}

} // namespace attnprof::operators::gpu
