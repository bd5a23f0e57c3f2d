#include "operators/kernels/cpu/isa/attention_tile.hpp"
#include "operators/kernels/cpu/isa/entries.hpp"
#include "operators/kernels/cpu/isa/panels.hpp"

namespace attnprof::operators::ATTNPROF_ISA {
namespace {

using cpu::AttentionArgs;

/// One share's tiles of one key head: keys and values are packed once and serve all queries of its group.
class TiledCore {
 public:
  TiledCore(const AttentionArgs& args, int share)
      : args_(args), q_(at(share, args.q_at)), k_(at(share, args.k_at)), v_(at(share, args.v_at)),
        scores_(at(share, args.scores_at)), sums_(at(share, args.sums_at)),
        state_(reinterpret_cast<RowState*>(at(share, args.state_at))),
        bias_row_(reinterpret_cast<float*>(state_ + args.tile_queries)),
        tile_width_(rounded_up(args.tile_keys, kTileColumns)), v_width_(rounded_up(args.v_dim, kTileColumns)) {}

  /// Packs the keys [begin, end), both on tile bounds; rows of k become columns of panels.
  void pack_keys(const Position& head, RowRange keys) {
    const Index k_at = outer_offset(args_.k, args_.nest, head);
    const Index v_at = outer_offset(args_.v, args_.nest, head);
    // q k^T: the panels run over keys, their rows over the width.
    Operand k = args_.k;
    k.row = args_.k.column;
    k.column = args_.k.row;
    for (Index key = keys.begin; key < keys.end; key += args_.tile_keys) {
      const Index count = least(args_.tile_keys, args_.n_k - key);
      pack_panels(k, element(k, k_at + key * args_.k.row), args_.qk_dim, count, k_tile(key));
      pack_panels(args_.v, element(args_.v, v_at + key * args_.v.row), count, args_.v_dim, v_tile(key));
    }
  }

  void run(const Position& position, Index first_row) {
    const Index rows = least(args_.tile_queries, args_.n_q - first_row);
    const RowRange keys = args_.tile_ranges[first_row / args_.tile_queries];
    for (Index i = 0; i < rows; ++i) {
      state_[i] = RowState{};
    }
    load_queries(position, first_row, rows);
    for (Index key = keys.begin; key < keys.end; key += args_.tile_keys) {
      visit(position, first_row, rows, key, key == keys.begin);
    }
    store_rows(position, first_row, rows, keys.begin == keys.end);
  }

 private:
  float* at(int share, Index offset) const {
    return reinterpret_cast<float*>(args_.scratch + share * args_.scratch_stride + offset);
  }
  float* k_tile(Index key) const { return k_ + key / args_.tile_keys * tile_width_ * args_.qk_dim; }
  float* v_tile(Index key) const { return v_ + key * v_width_; }

  void load_queries(const Position& position, Index first_row, Index rows) {
    const Index from = outer_offset(args_.q, args_.nest, position) + first_row * args_.q.row;
    pack_tiles(args_.q, element(args_.q, from), rows, args_.qk_dim, q_);
    queries_ = factor_of_tiles(q_, args_.qk_dim);
  }

  void visit(const Position& position, Index first_row, Index rows, Index key, bool first) {
    const Index count = least(args_.tile_keys, args_.n_k - key);
    const float* k = k_tile(key);
    for (Index j = 0; j < count; j += kTileColumns) {
      panel_product(false, rows, args_.qk_dim, queries_, k + j * args_.qk_dim, scores_ + j, tile_width_,
                    least(kTileColumns, count - j));
    }
    for (Index i = 0; i < rows; ++i) {
      const RowRange whole = args_.row_keys[first_row + i];
      const RowRange keep{whole.begin - key, whole.end - key};
      if (args_.squared_relu) {
        square_row(scores_ + i * tile_width_, count, keep);
        continue;
      }
      const float correction = weigh_row(state_[i], scores_ + i * tile_width_, count, keep, args_.scale,
                                         bias_of(position, first_row + i, key, count));
      if (!first && correction != 1.0F) {
        scale_row(sums_ + i * v_width_, args_.v_dim, correction);
      }
    }
    const float* v = v_tile(key);
    const Factor weights = factor_of_rows(scores_, tile_width_, 1);
    for (Index j = 0; j < args_.v_dim; j += kTileColumns) {
      panel_product(!first, rows, count, weights, v + j * count, sums_ + j, v_width_,
                    least(kTileColumns, args_.v_dim - j));
    }
  }

  const float* bias_of(const Position& position, Index row, Index key, Index count) {
    if (args_.bias.address == nullptr) {
      return nullptr;
    }
    const Index from = outer_offset(args_.bias, args_.nest, position) + row * args_.bias.row + key * args_.bias.column;
    return read_row(args_.bias, element(args_.bias, from), count, bias_row_);
  }

  void store_rows(const Position& position, Index first_row, Index rows, bool nothing_visited) {
    const Index to = outer_offset(args_.y, args_.nest, position) + first_row * args_.y.row;
    for (Index i = 0; i < rows; ++i) {
      std::byte* target = element_to_write(args_.y, to + i * args_.y.row);
      float* sums = sums_ + i * v_width_;
      float* y = row_to_write(args_.y, target, sums);
      const Vec factor = broadcast(final_factor(args_, state_[i]));
      map_row(sums, y, args_.v_dim, [&](Vec v) { return nothing_visited ? zero() : v * factor; });
      write_row(args_.y, y, args_.v_dim, target);
    }
  }

  const AttentionArgs& args_;
  float* q_;
  float* k_;
  float* v_;
  float* scores_;
  float* sums_;
  RowState* state_;
  float* bias_row_;
  Index tile_width_;
  Index v_width_;
  Factor queries_{};
};

/// Keys that the flat tiles [begin, end) of one key head visit.
RowRange visited_by(const AttentionArgs& args, Index begin, Index end, Index tiles) {
  RowRange out{args.n_k, 0};
  const Index count = least(end - begin, tiles); // all members of a group visit the same keys
  for (Index i = 0; i < count; ++i) {
    const RowRange keys = args.tile_ranges[(begin + i) % tiles];
    if (keys.begin < keys.end) {
      out.begin = least(out.begin, keys.begin);
      out.end = most(out.end, keys.end);
    }
  }
  return out;
}

} // namespace

void attention(const AttentionArgs& args, int share, int /*shares*/) {
  const Index tiles = (args.n_q + args.tile_queries - 1) / args.tile_queries;
  const Index per_head = tiles * args.group;
  const Index end = args.share_begin[share + 1];
  TiledCore core(args, share);
  for (Index flat = args.share_begin[share]; flat < end;) {
    const Index head_end = least(end, (flat / per_head + 1) * per_head);
    Position position = position_of(args.nest, flat / tiles);
    core.pack_keys(position, visited_by(args, flat % per_head, flat % per_head + (head_end - flat), tiles));
    for (; flat < head_end; ++flat) {
      core.run(position_of(args.nest, flat / tiles), flat % tiles * args.tile_queries);
    }
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
