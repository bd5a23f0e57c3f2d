#include "operators/core/plan.hpp"
#include "operators/kernels/cpu/kernel.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::operators::cpu {
namespace {

/// Up to this many query rows of one key head, packing keys costs more than it saves and the core is bound by reading
/// them.
constexpr std::int64_t kDecodeRows = 8;

class AttentionKernel final : public CpuKernel {
 public:
  AttentionKernel(const PlanContext& context, const Attention& op)
      : table_(context.table), threads_(context.threads), decode_(op.q.dims[2] * op.q.dims[3] <= kDecodeRows) {
    describe(context, op);
    row_keys_ = mask_ranges(op.mask, args_.n_q, args_.n_k);
    args_.row_keys = row_keys_.data();
    if (decode_) {
      plan_decode(op);
    } else {
      plan_tiles(op);
    }
    plan_scratch();
    const char* weights = args_.squared_relu ? "relu2 " : "";
    impl_ = fmt::format("own {}{} {}", weights, decode_ ? "decode attention" : "flash attention", context.table.isa);
  }

  [[nodiscard]] std::string impl() const override { return impl_; }
  [[nodiscard]] std::int64_t scratch_bytes() const override { return args_.scratch_stride * threads_; }
  [[nodiscard]] int phases() const override { return decode_ ? 2 : 1; }
  void run(int phase, int share, int shares) const override {
    if (decode_) {
      table_.attention_decode(args_, phase, share, shares);
    } else {
      table_.attention(args_, share, shares);
    }
  }

 private:
  void describe(const PlanContext& context, const Attention& op) {
    args_.nest.rank = 3;
    for (std::size_t d = 0; d < 3; ++d) {
      args_.nest.dims[d] = op.q.dims[d];
      args_.nest.count *= op.q.dims[d];
    }
    args_.group = op.q.dims[2];
    args_.n_q = op.q.dims[3];
    args_.n_k = op.k.dims[2];
    args_.qk_dim = op.q.dims[4];
    args_.v_dim = op.v.dims[3];
    args_.scale = static_cast<float>(op.scale);
    args_.squared_relu = op.weights == Attention::Weights::kSquaredRelu;
    connect(context, args_.q, op.q);
    connect(context, args_.y, op.y);
    connect(context, args_.k, op.k);
    connect(context, args_.v, op.v);
    if (op.bias) {
      connect(context, args_.bias, *op.bias);
    }
  }

  void connect(const PlanContext& context, Operand& operand, const View& view) {
    for (std::size_t d = 0; d + 2 < view.rank(); ++d) {
      operand.outer[d] = view.strides[d];
    }
    operand.row = view.strides.back(1);
    operand.column = view.strides.back();
    place(context, operand, view);
  }

  void plan_tiles(const Attention& op) {
    args_.tile_queries = std::min(op.tiles.queries, args_.n_q);
    // Under a mask the op's tiles are narrow, so that it counts little that the mask hides. Rows skip what is hidden
    // from them, so here several such tiles are taken at once, as many keys as without a mask.
    const std::int64_t unmasked = attention_tiles(args_.n_q, args_.n_k, args_.qk_dim, args_.v_dim).keys;
    args_.tile_keys = std::min(std::max(unmasked, op.tiles.keys), args_.n_k);
    std::vector<std::int64_t> costs;
    for (std::int64_t row = 0; row < args_.n_q; row += args_.tile_queries) {
      const std::int64_t rows = std::min(args_.tile_queries, args_.n_q - row);
      const KeyRange keys = visited_keys(op.mask, op.tiles, row, rows, args_.n_q, args_.n_k);
      tile_ranges_.push_back({keys.begin / args_.tile_keys * args_.tile_keys, keys.end});
      costs.push_back(rows * (keys.end - keys.begin) + 1);
    }
    args_.tile_ranges = tile_ranges_.data();
    share_out(costs);
  }

  /// Contiguous runs of flat tiles of about equal work: under a causal mask late tiles cost more than early ones.
  void share_out(const std::vector<std::int64_t>& costs) {
    const auto tiles = static_cast<std::int64_t>(costs.size());
    std::int64_t per_matrix = 0;
    for (const std::int64_t cost : costs) {
      per_matrix += cost;
    }
    const std::int64_t total = per_matrix * args_.nest.count;
    share_begin_.assign(static_cast<std::size_t>(threads_) + 1, args_.nest.count * tiles);
    share_begin_[0] = 0;
    for (int share = 1; share < threads_; ++share) {
      // Whole matrices are skipped at once, then tiles while taking one more brings the share closer to its bound.
      const auto bound = static_cast<std::int64_t>(static_cast<double>(total) * share / threads_);
      std::int64_t flat = bound / per_matrix * tiles;
      std::int64_t done = bound / per_matrix * per_matrix;
      while (flat < args_.nest.count * tiles && done + costs[static_cast<std::size_t>(flat % tiles)] / 2 < bound) {
        done += costs[static_cast<std::size_t>(flat % tiles)];
        ++flat;
      }
      share_begin_[static_cast<std::size_t>(share)] = std::max(flat, share_begin_[static_cast<std::size_t>(share) - 1]);
    }
    args_.share_begin = share_begin_.data();
  }

  void plan_decode(const Attention& op) {
    RowRange all{args_.n_k, 0};
    for (const RowRange& keys : row_keys_) {
      if (keys.begin < keys.end) {
        all = {std::min(all.begin, keys.begin), std::max(all.end, keys.end)};
      }
    }
    // Tiles small enough that every share gets several, whatever the number of heads.
    const std::int64_t heads = args_.nest.count / args_.group;
    const std::int64_t keys = std::max<std::int64_t>(all.end - all.begin, 1);
    const std::int64_t wanted = ceil_div(std::int64_t{4} * threads_, heads);
    args_.tile_keys = std::clamp<std::int64_t>(round_up(ceil_div(keys, wanted), 32), 64, 512);
    args_.tile_keys = std::min(args_.tile_keys, std::max<std::int64_t>(op.tiles.keys, 64));
    args_.tile_queries = args_.group * args_.n_q;
    if (all.begin < all.end) {
      args_.visited = {all.begin / args_.tile_keys * args_.tile_keys, all.end};
    }
  }

  void plan_scratch() {
    const std::int64_t columns = table_.tile_columns;
    const std::int64_t tile_width = round_up(args_.tile_keys, columns);
    const std::int64_t v_width = round_up(args_.v_dim, columns);
    const std::int64_t rows = args_.tile_queries;
    const std::int64_t tiles = ceil_div(args_.n_k, args_.tile_keys);
    ScratchLayout layout;
    args_.q_at = layout.add((round_up(rows, table_.tile_rows) * staggered(args_.qk_dim, table_.lanes)) * 4);
    args_.k_at = layout.add((decode_ ? kCopiedKeys : tiles * tile_width) * args_.qk_dim * 4);
    args_.v_at = layout.add((decode_ ? kCopiedKeys : args_.n_k) * v_width * 4);
    const std::int64_t rows_at_once = decode_ ? rows : table_.tile_rows;
    args_.scores_at = layout.add(rows_at_once * (tile_width + table_.lanes) * 4);
    args_.sums_at = layout.add(rows * v_width * 4);
    const std::int64_t state = row_state_floats(rows, table_.lanes); // then a row of the bias
    args_.state_at = layout.add((state + tile_width) * 4);
    args_.partial_at = decode_ ? layout.add(2 * (state + rows * args_.v_dim) * 4) : 0;
    args_.scratch_stride = layout.stride();
  }

  void bind_scratch(std::byte* scratch) override { args_.scratch = scratch; }

  const KernelTable& table_;
  int threads_;
  bool decode_;
  AttentionArgs args_;
  std::vector<RowRange> row_keys_;
  std::vector<RowRange> tile_ranges_;
  std::vector<std::int64_t> share_begin_;
  std::string impl_;
};

} // namespace

std::unique_ptr<CpuKernel> plan_attention(const PlanContext& context, const Attention& op) {
  return std::make_unique<AttentionKernel>(context, op);
}

} // namespace attnprof::operators::cpu
