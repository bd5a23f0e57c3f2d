#include "operators/kernels/gpu/joint.hpp"

namespace attnprof::operators::gpu {
namespace {

RowsArgs rows_of(const Binder& binder, const View& x, const View& y) {
  const Joint joint({x, y}, 1);
  RowsArgs args;
  args.outer = joint.space();
  args.columns = y.dims.back();
  args.x = binder.operand(x, joint.view(0));
  args.y = binder.operand(y, joint.view(1));
  args.x_column = x.strides.back();
  args.y_column = y.strides.back();
  args.wide = args.x_column == 1 && args.y_column == 1 && args.columns % kWide == 0;
  for (const View* view : {&x, &y}) {
    args.wide = args.wide && view->offset % kWide == 0;
    for (std::size_t d = 0; d + 1 < view->rank(); ++d) {
      args.wide = args.wide && view->strides[d] % kWide == 0;
    }
  }
  return args;
}

Operand vector_of(const Binder& binder, const View& view) {
  Operand out =
      binder.operand(view, view.rank() == 0 ? view : View{view.tensor, 0, {view.dims.back()}, {view.strides.back()}});
  return out;
}

} // namespace

LaunchArgs plan(const Binder& binder, const Softmax& op) {
  RowsArgs args = rows_of(binder, op.x, op.y);
  args.kind = RowsArgs::Kind::kSoftmax;
  return args;
}

LaunchArgs plan(const Binder& binder, const LayerNorm& op) {
  RowsArgs args = rows_of(binder, op.x, op.y);
  args.kind = op.beta ? RowsArgs::Kind::kLayerNorm : RowsArgs::Kind::kRmsNorm;
  args.gamma = vector_of(binder, op.gamma);
  if (op.beta) {
    args.beta = vector_of(binder, *op.beta);
  }
  args.eps = static_cast<float>(op.eps);
  for (const View* view : {&op.gamma, op.beta ? &*op.beta : &op.gamma}) {
    args.wide = args.wide && view->rank() > 0 && view->strides.back() == 1 && view->offset % kWide == 0;
  }
  return args;
}

} // namespace attnprof::operators::gpu
