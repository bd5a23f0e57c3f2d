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
    order_by(y, x);
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
    const auto bytes = (y.elements() * size_bytes(context.graph.tensor(y.tensor).dtype));
    args_.stream = bytes > Count(stream_bytes());
    if (run_ == context.table.copy_rows && has_whole_lines(context, x, y)) {
      order_whole_lines(x, y);
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
    place(context, args_.x, op.x);
    place(context, args_.y, op.y);
  }

  [[nodiscard]] std::string impl() const override { return impl_; }
  void run(int /*phase*/, int share, int shares) const override { run_(args_, share, shares); }

 private:
  /// Dimensions in the order of the strides of `first`, neighbours merged, at least two: rows are dense in it where any
  /// dimension is.
  static void order_by(View& first, View& second) {
    for (std::size_t i = 0; i < first.rank(); ++i) {
      for (std::size_t j = i; j > 0 && first.strides[j - 1] < first.strides[j]; --j) {
        second = second.transpose(j - 1, j);
        first = first.transpose(j - 1, j);
      }
    }
    for (std::size_t d = first.rank() - 1; d-- > 0;) {
      if (second.mergeable(d) && first.mergeable(d)) {
        second = second.merge(d);
        first = first.merge(d);
      }
    }
    while (first.rank() < 2) {
      second = second.broadcast(0, 1);
      first = first.broadcast(0, 1);
    }
  }

  /// Past the caches the input is read in its own order, which keeps the prefetchers at work, and lines are written
  /// where they belong: the order of writes costs little. In the caches the longer of two loops is the inner one.
  void order_whole_lines(View& x, View& y) const {
    if (args_.stream) {
      order_by(x, y);
    } else if (const std::size_t rank = y.rank(); rank > 2 && y.dims[rank - 3] > y.dims[rank - 2]) {
      x = x.transpose(rank - 3, rank - 2);
      y = y.transpose(rank - 3, rank - 2);
    }
  }

  /// Whether both sides consist of rows of whole cache lines.
  static bool has_whole_lines(const PlanContext& context, const View& x, const View& y) {
    constexpr std::int64_t kLineFloats = 16;
    bool whole = context.graph.tensor(y.tensor).dtype == DType::kF32 && x.strides.back() == 1 &&
                 y.strides.back() == 1 && y.dims.back() % kLineFloats == 0;
    for (std::size_t d = 0; d + 1 < x.rank(); ++d) {
      whole = whole && x.strides[d] > 0 && y.strides[d] % kLineFloats == 0;
    }
    return whole;
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
