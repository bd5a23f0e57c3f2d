#include "operators/kernels/cpu/isa/attention_tile.hpp"
#include "operators/kernels/cpu/isa/entries.hpp"
#include "operators/kernels/cpu/isa/panels.hpp"

namespace attnprof::operators::ATTNPROF_ISA {
namespace {

using cpu::AttentionArgs;

/// Vectors of a panel of which `left` columns are wanted.
ATTNPROF_INLINE bool needs_both_vectors(Index left) {
  return left > kLanes;
}

/// Scores of R queries, packed as a tile, and the keys [begin, end), begin at the start of a panel. Whole vectors are
/// written: what lies past the last key is computed from the padding of its panel.
template <int R>
void score_tiles(const float* q, Index width, const float* k, Index begin, Index end, float* scores, Index row) {
  for (Index key = begin; key < end; key += kTileColumns) {
    if (needs_both_vectors(end - key)) {
      Vec sums[R][2];
      sum_outer_products(sums, width, PackedRows{q}, k + key * width);
      store_tile(false, sums, RowsInPlace<R, float>(scores + key, row));
    } else {
      Vec sums[R][1];
      sum_outer_products(sums, width, PackedRows{q}, k + key * width);
      store_tile(false, sums, RowsInPlace<R, float>(scores + key, row));
    }
  }
}

/// sums[R][width] (+)= weights[R][keys] * v; v: panels of `panel` floats each, from the first of those keys on.
template <int R>
void mix_tiles(bool add, const float* weights, Index row, Index keys, const float* v, Index panel, Index width,
               float* mixed, Index mixed_row) {
  for (Index j = 0; j < width; j += kTileColumns) {
    if (needs_both_vectors(width - j)) {
      Vec sums[R][2];
      sum_outer_products(sums, keys, RowsInPlace<R>(weights, row), v);
      store_tile(add, sums, RowsInPlace<R, float>(mixed + j, mixed_row));
    } else {
      Vec sums[R][1];
      sum_outer_products(sums, keys, RowsInPlace<R>(weights, row), v);
      store_tile(add, sums, RowsInPlace<R, float>(mixed + j, mixed_row));
    }
    v += panel;
  }
}

/// One share's tiles of one key head: keys and values are packed once and serve all queries of its group. A tile of
/// queries visits keys tile by tile, so that those stay in the second-level cache; within it the queries of one
/// register tile go through scores, weights and mix at once, so that their scores stay in the first-level cache. Keys
/// that a mask hides from all of them are skipped, which is finer than the tiles that the op counts.
class TiledCore {
 public:
  TiledCore(const AttentionArgs& args, int share)
      : args_(args), q_(at(share, args.q_at)), k_(at(share, args.k_at)), v_(at(share, args.v_at)),
        scores_(at(share, args.scores_at)), mixed_(at(share, args.sums_at)),
        state_(RowStates::in(at(share, args.state_at), args.tile_queries)),
        bias_row_(at(share, args.state_at) + RowStates::floats(args.tile_queries)),
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
    state_.clear(rows);
    const Index from = outer_offset(args_.q, args_.nest, position) + first_row * args_.q.row;
    pack_tiles(args_.q, element(args_.q, from), rows, args_.qk_dim, q_);
    visited_ = 0;
    for (Index key = keys.begin; key < keys.end; key += args_.tile_keys) {
      for (Index row = 0; row < rows; row += kTileRows) {
        visit(position, first_row, {row, least(row + kTileRows, rows)}, key);
      }
    }
    store_rows(position, first_row, rows);
  }

 private:
  float* at(int share, Index offset) const {
    return reinterpret_cast<float*>(args_.scratch + share * args_.scratch_stride + offset);
  }
  float* k_tile(Index key) const { return k_ + key / args_.tile_keys * tile_width_ * args_.qk_dim; }
  float* v_tile(Index key) const { return v_ + key * v_width_; }

  /// Whether the register tile of this row has met a key yet: its sums hold nothing before.
  [[nodiscard]] bool visited(Index row) const { return (visited_ >> (row / kTileRows) & 1U) != 0; }

  [[nodiscard]] RowRange attended(Index row, Index key, Index count) const {
    const RowRange whole = args_.row_keys[row];
    const Index begin = least(most(whole.begin - key, 0), count);
    return {begin, least(most(whole.end - key, begin), count)};
  }

  /// The rows of one register tile against one tile of keys.
  void visit(const Position& position, Index first_row, Range rows, Index key) {
    const Index count = least(args_.tile_keys, args_.n_k - key);
    Index begin = count;
    Index end = 0;
    for (Index r = rows.begin; r < rows.end; ++r) {
      const RowRange keep = attended(first_row + r, key, count);
      if (keep.begin < keep.end) {
        begin = least(begin, keep.begin);
        end = most(end, keep.end);
      }
    }
    if (begin >= end) {
      return;
    }
    begin = begin / kTileColumns * kTileColumns;
    const Index height = rows.end - rows.begin;
    with_row_count(height, [&]<int R>() {
      score_tiles<R>(q_ + rows.begin * args_.qk_dim, args_.qk_dim, k_tile(key), begin, end, scores_, tile_width_);
    });
    weigh(position, first_row, rows, key, {begin, end});
    float* mixed = mixed_ + rows.begin * v_width_;
    with_row_count(height, [&]<int R>() {
      mix_tiles<R>(visited(rows.begin), scores_ + begin, tile_width_, end - begin, v_tile(key) + begin * kTileColumns,
                   count * kTileColumns, args_.v_dim, mixed, v_width_);
    });
    visited_ |= std::uint64_t{1} << (rows.begin / kTileRows);
  }

  void weigh(const Position& position, Index first_row, Range rows, Index key, Range part) {
    const Index count = part.end - part.begin;
    const auto keep = [&](Index r) { return attended(first_row + rows.begin + r, key + part.begin, count); };
    float* scores = scores_ + part.begin;
    if (args_.squared_relu) {
      for (Index r = 0; r < rows.end - rows.begin; ++r) {
        square_row(scores + r * tile_width_, count, keep(r));
      }
      return;
    }
    weigh_rows(state_, rows.begin, rows.end - rows.begin, scores, tile_width_, count, args_.scale, keep,
               [&](Index r) { return bias_of(position, first_row + rows.begin + r, key + part.begin, count); });
    for (Index r = rows.begin; visited(r) && r < rows.end; ++r) {
      if (state_.correction[r] != 1.0F) {
        scale_row(mixed_ + r * v_width_, mixed_ + r * v_width_, args_.v_dim, state_.correction[r]);
      }
    }
  }

  const float* bias_of(const Position& position, Index row, Index key, Index count) {
    if (args_.bias.address == nullptr) {
      return nullptr;
    }
    const Index from = outer_offset(args_.bias, args_.nest, position) + row * args_.bias.row + key * args_.bias.column;
    return read_row(args_.bias, element(args_.bias, from), count, bias_row_);
  }

  void store_rows(const Position& position, Index first_row, Index rows) {
    const Index to = outer_offset(args_.y, args_.nest, position) + first_row * args_.y.row;
    for (Index i = 0; i < rows; ++i) {
      std::byte* target = element_to_write(args_.y, to + i * args_.y.row);
      float* mixed = mixed_ + i * v_width_;
      float* y = row_to_write(args_.y, target, mixed);
      if (visited(i)) {
        scale_row(mixed, y, args_.v_dim, final_factor(args_, state_.sum(i)));
      } else {
        map_row(mixed, y, args_.v_dim, [](auto v) ATTNPROF_INLINE_LAMBDA { return constant(v, 0.0F); });
      }
      write_row(args_.y, y, args_.v_dim, target);
    }
  }

  const AttentionArgs& args_;
  float* q_;
  float* k_;
  float* v_;
  float* scores_; ///< [kTileRows][tile_width_]
  float* mixed_;  ///< [tile_queries][v_width_]
  RowStates state_;
  float* bias_row_;
  Index tile_width_;
  Index v_width_;
  std::uint64_t visited_ = 0; ///< a bit for each register tile
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
