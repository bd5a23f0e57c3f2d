#include "operators/kernels/cpu/kernel.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::operators::cpu {
namespace {

class CopyKernel final : public CpuKernel {
 public:
  CopyKernel(const PlanContext& context, const Copy& op) {
    View x = op.x;
    View y = op.y;
    order_by_output(x, y);
    const std::size_t across = transposed_dimension(x, y);
    if (across < x.rank()) {
      x = x.transpose(across, x.rank() - 2);
      y = y.transpose(across, y.rank() - 2);
      run_ = context.table.copy_transposed;
      impl_ = fmt::format("own transpose {}", context.table.isa);
    } else {
      run_ = context.table.copy_rows;
      impl_ = fmt::format("own copy {}", context.table.isa);
    }
    const Walk walk({x, y}, 2);
    args_.nest = walk.nest();
    args_.rows = y.dims.back(1);
    args_.columns = y.dims.back();
    walk.fill(0, args_.x);
    walk.fill(1, args_.y);
    args_.x.row = x.strides.back(1);
    args_.y.row = y.strides.back(1);
    args_.x.column = x.strides.back();
    args_.y.column = y.strides.back();
    args_.stream = (y.elements() * size_bytes(context.graph.tensor(y.tensor).dtype)) > Count(stream_bytes());
    place(context, args_.x, op.x);
    place(context, args_.y, op.y);
  }

  [[nodiscard]] std::string impl() const override { return impl_; }
  void run(int /*phase*/, int share, int shares) const override { run_(args_, share, shares); }

 private:
  /// Dimensions in the order of the output's strides, neighbours merged, at least two: rows are dense in the output
  /// where any dimension is.
  static void order_by_output(View& x, View& y) {
    for (std::size_t i = 0; i < y.rank(); ++i) {
      for (std::size_t j = i; j > 0 && y.strides[j - 1] < y.strides[j]; --j) {
        x = x.transpose(j - 1, j);
        y = y.transpose(j - 1, j);
      }
    }
    for (std::size_t d = y.rank() - 1; d-- > 0;) {
      if (x.mergeable(d) && y.mergeable(d)) {
        x = x.merge(d);
        y = y.merge(d);
      }
    }
    while (y.rank() < 2) {
      x = x.broadcast(0, 1);
      y = y.broadcast(0, 1);
    }
  }

  /// The dimension along which the input is dense, where that is not the last; rank where there is none.
  static std::size_t transposed_dimension(const View& x, const View& y) {
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

  RowsArgs args_;
  void (*run_)(const RowsArgs&, int, int) = nullptr;
  std::string impl_;
};

} // namespace

std::unique_ptr<CpuKernel> plan_copy(const PlanContext& context, const Copy& op) {
  return std::make_unique<CopyKernel>(context, op);
}

} // namespace attnprof::operators::cpu
