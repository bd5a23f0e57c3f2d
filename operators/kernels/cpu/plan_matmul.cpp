#include "operators/kernels/cpu/kernel.hpp"
#include "operators/kernels/cpu/onednn_product.hpp"
#include "operators/kernels/cpu/product_rule.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace attnprof::operators::cpu {
namespace {

/// The operands of a product: a, b, c, then those of the epilogue. Batch dimensions first, then rows and columns.
class Operands {
 public:
  explicit Operands(const MatMul& op) : views_{op.a, op.b, op.c} {
    for (const Step& step : op.epilogue) {
      if (step.operand) {
        views_.push_back(*step.operand);
      }
    }
    drop_single_dimensions();
    fold_into_rows();
    put_shared_innermost();
  }

  [[nodiscard]] const View& operator[](std::size_t i) const { return views_[i]; }
  [[nodiscard]] Walk walk() const { return {views_, 2}; }

 private:
  [[nodiscard]] std::size_t batch_rank() const { return views_[2].rank() - 2; }

  void erase(std::size_t d) {
    for (View& view : views_) {
      view.dims.erase(d);
      view.strides.erase(d);
    }
  }

  void drop_single_dimensions() {
    for (std::size_t d = batch_rank(); d-- > 0;) {
      if (views_[2].dims[d] == 1) {
        erase(d);
      }
    }
  }

  /// A batch dimension that shares b (weights; keys of grouped queries) becomes more rows of a, where strides allow.
  void fold_into_rows() {
    for (std::size_t d = batch_rank(); d-- > 0;) {
      const std::int64_t rows = views_[2].dims.back(1);
      bool fits = views_[1].strides[d] == 0;
      for (std::size_t i = 0; i < views_.size(); ++i) {
        fits = fits && (i == 1 || rows == 1 || views_[i].strides[d] == rows * views_[i].strides.back(1));
      }
      if (!fits) {
        continue;
      }
      for (std::size_t i = 0; i < views_.size(); ++i) {
        View& view = views_[i];
        if (i != 1) {
          view.dims[view.rank() - 2] = rows * view.dims[d];
          view.strides[view.rank() - 2] = rows == 1 ? view.strides[d] : view.strides.back(1);
        }
      }
      erase(d);
    }
  }

  /// Neighbouring batches then use the same b, which stays packed.
  void put_shared_innermost() {
    for (std::size_t d = 0; d + 1 < batch_rank(); ++d) {
      for (std::size_t e = 0; e + 1 < batch_rank() - d; ++e) {
        if (views_[1].strides[e] == 0 && views_[1].strides[e + 1] != 0) {
          for (View& view : views_) {
            view = view.transpose(e, e + 1);
          }
        }
      }
    }
  }

  std::vector<View> views_;
};

/// A product on whom the rule names, or on the own kernels where oneDNN does not take the operands as they lie.
class MatMulKernel final : public CpuKernel {
 public:
  MatMulKernel(const PlanContext& context, const MatMul& op) : table_(context.table), threads_(context.threads) {
    const Operands operands(op);
    const Walk walk = operands.walk();
    args_.nest = walk.nest();
    args_.m = operands[0].dims.back(1);
    args_.n = operands[1].dims.back();
    args_.k = operands[0].dims.back();
    Operand* const main[] = {&args_.a, &args_.b, &args_.c};
    const View* const views[] = {&op.a, &op.b, &op.c};
    for (std::size_t i = 0; i < 3; ++i) {
      connect(context, walk, i, operands[i], *main[i], *views[i]);
    }
    // A mask step speaks about the queries before groups were folded into rows.
    steps_ = plan_steps(op.epilogue, op.c.dims.back(1), op.c.dims.back());
    std::size_t next = 3;
    for (std::size_t s = 0; s < op.epilogue.size(); ++s) {
      if (op.epilogue[s].operand) {
        connect(context, walk, next, operands[next], steps_.args[s].operand, *op.epilogue[s].operand);
        ++next;
      }
    }
    args_.steps = steps_.list();
    const Storage::Kind stored = context.storage[static_cast<std::size_t>(op.b.tensor)].kind;
    args_.b_panels = stored == Storage::Kind::kPanels;
    args_.b_blocks = stored == Storage::Kind::kBlocks;
    few_rows_ = args_.m <= kFewRows && (args_.b_panels || args_.b.column == 1 || args_.b.row == 1);
    if (plan_onednn(context, op)) {
      return;
    }
    if (few_rows_) {
      plan_few_rows();
    } else {
      plan_blocks();
      plan_shares();
    }
    impl_ = fmt::format("own {} {}{}", few_rows_ ? "gemv" : "gemm", table_.isa, args_.b_panels ? " packed" : "");
  }

  [[nodiscard]] std::string impl() const override { return impl_; }
  [[nodiscard]] std::int64_t scratch_bytes() const override { return args_.scratch_stride * threads_; }
  void run(int /*phase*/, int share, int shares) const override {
    if (onednn_ != nullptr) {
      onednn_->run(args_, table_, share, shares);
      return;
    }
    (few_rows_ ? table_.matvec : table_.matmul)(args_, share, shares);
  }

 private:
  bool plan_onednn(const PlanContext& context, const MatMul& op) {
    ProductShape shape = shape_of_product(context.graph, op);
    shape.m = args_.m; // the batch entries that did not become rows are products of their own
    const bool chosen = product_kind(table_, shape, threads_, context.products) == ProductKind::kOneDnnMatmul;
    if (args_.b_blocks || chosen) {
      const bool forced = context.products == Products::kOneDnn;
      onednn_ =
          OneDnnProduct::make(args_, threads_, forced ? OneDnnProduct::Accept::kAny : OneDnnProduct::Accept::kBlocked);
    }
    if (onednn_ == nullptr) {
      if (args_.b_blocks) {
        throw Error(ErrorKind::kInternal,
                    fmt::format("oneDNN has no kernel for the product {} whose weight was stored for it",
                                shape_of(Primitive(op))));
      }
      return false;
    }
    ScratchLayout layout;
    layout.add(std::max<std::int64_t>(onednn_->scratch_bytes(), 64));
    args_.scratch_stride = layout.stride();
    impl_ = fmt::format("onednn {}", onednn_->implementation());
    return true;
  }

  void connect(const PlanContext& context, const Walk& walk, std::size_t index, const View& folded, Operand& operand,
               const View& view) {
    walk.fill(index, operand);
    operand.row = folded.strides.back(1);
    operand.column = folded.strides.back();
    place(context, operand, view);
  }

  void plan_few_rows() {
    args_.a_copied = args_.a.bf16 || args_.a.column != 1;
    ScratchLayout layout;
    if (args_.a_copied) {
      args_.a_at = layout.add(args_.m * args_.k * 4);
    }
    args_.scratch_stride = layout.stride();
  }

  /// A panel of b fills half of a first-level cache, the rows of a and of c together half of a second-level one.
  void plan_blocks() {
    const std::int64_t columns = table_.tile_columns;
    const std::int64_t depth = table_.lanes > 8 ? 256 : 320;
    constexpr std::int64_t kBlockBytes = 160 * 1024;
    const std::int64_t k_blocks = ceil_div(args_.k, depth);
    args_.block_k = round_up(ceil_div(args_.k, k_blocks), 8);
    // Turning a into tiles pays off where many panels pass over it.
    args_.a_copied = args_.a.bf16 || args_.a.column != 1 || args_.n > 16 * columns;
    const std::int64_t fitting = kBlockBytes / (4 * args_.block_k) / table_.tile_rows * table_.tile_rows;
    args_.block_rows = std::clamp<std::int64_t>(fitting, table_.tile_rows,
                                                std::max<std::int64_t>(round_up(args_.m, table_.tile_rows), 1));
    std::int64_t width = std::max(kBlockBytes / (4 * args_.block_rows), 4 * columns);
    if (!args_.b_panels) {
      width = std::min(width, std::max(2 * kBlockBytes / (4 * args_.k), 2 * columns));
    }
    const std::int64_t blocks = ceil_div(args_.n, width);
    args_.block_columns = round_up(ceil_div(args_.n, blocks), columns);

    ScratchLayout layout;
    const bool plain_c = !args_.c.bf16 && args_.c.column == 1;
    args_.a_at = args_.a_copied ? layout.add((args_.block_rows * args_.block_k + table_.lanes) * 4) : 0;
    args_.b_at = args_.b_panels ? 0 : layout.add(args_.k * args_.block_columns * 4);
    args_.panel_at = args_.b_panels && args_.b.bf16 ? layout.add(args_.block_k * columns * 4) : 0;
    args_.c_at = plain_c ? 0 : layout.add(args_.block_rows * args_.block_columns * 4);
    args_.scratch_stride = layout.stride();
  }

  /// Splits rows and columns among the shares so that the slowest share has the least to do.
  void plan_shares() {
    const std::int64_t tiles = ceil_div(args_.m, table_.tile_rows);
    const std::int64_t panels = ceil_div(args_.n, table_.tile_columns);
    double best = std::numeric_limits<double>::max();
    for (int rows = 1; rows <= threads_; ++rows) {
      if (threads_ % rows != 0) {
        continue;
      }
      const int columns = threads_ / rows;
      const auto my_tiles = static_cast<double>(ceil_div(args_.nest.count * tiles, rows));
      const auto my_panels = static_cast<double>(ceil_div(panels, columns));
      // Packing a panel costs about as much as multiplying it by two tiles.
      const double packed = args_.b_panels ? 0.0 : 2.0 * (my_tiles / static_cast<double>(tiles) + 1.0);
      // Reading a again for every share of columns: a little dearer than sharing rows.
      const double cost = my_panels * (my_tiles + packed) * (1.0 + 0.01 * columns);
      if (cost < best) {
        best = cost;
        args_.row_shares = rows;
        args_.column_shares = columns;
      }
    }
  }

  void bind_scratch(std::byte* scratch) override { args_.scratch = scratch; }

  const KernelTable& table_;
  int threads_;
  bool few_rows_ = false;
  std::unique_ptr<OneDnnProduct> onednn_;
  MatMulArgs args_;
  StepPlan steps_;
  std::string impl_;
};

} // namespace

std::unique_ptr<CpuKernel> plan_matmul(const PlanContext& context, const MatMul& op) {
  return std::make_unique<MatMulKernel>(context, op);
}

} // namespace attnprof::operators::cpu
