#include "operators/kernels/cpu/isa/attention_tile.hpp"
#include "operators/kernels/cpu/isa/entries.hpp"
#include "operators/kernels/cpu/isa/panels.hpp"
#include "operators/kernels/cpu/isa/vectors.hpp"

namespace attnprof::operators::ATTNPROF_ISA {
namespace {

using cpu::AttentionArgs;

/// Keys handled together: their rows stay in the first-level cache while all query rows of the group pass over them.
constexpr Index kNearKeys = 32;

/// Partial result of one share for one key head: state of each row, then its sums.
struct Partial {
  RowState* state;
  float* sums;
};

/// All query rows of one key head (group x n_q, few) against a range of keys, which are read once and in place.
class DecodeCore {
 public:
  DecodeCore(const AttentionArgs& args, int share)
      : args_(args), rows_(args.group * args.n_q), q_(at(share, args.q_at)), k_(at(share, args.k_at)),
        v_(at(share, args.v_at)), scores_(at(share, args.scores_at)), sums_(at(share, args.sums_at)),
        state_(reinterpret_cast<RowState*>(at(share, args.state_at))),
        bias_row_(reinterpret_cast<float*>(state_ + rows_)), tile_width_(rounded_up(args.tile_keys, kTileColumns)) {}

  void run(Index head, Index first_tile, Index end_tile) {
    head_ = head;
    for (Index r = 0; r < rows_; ++r) {
      state_[r] = RowState{};
      const Operand& q = args_.q;
      read_into(q, element(q, offset(q, r)), args_.qk_dim, q_ + r * args_.qk_dim);
    }
    for (Index tile = first_tile; tile < end_tile; ++tile) {
      visit(args_.visited.begin + tile * args_.tile_keys, tile == first_tile);
    }
  }
  [[nodiscard]] Partial result() const { return {state_, sums_}; }

  /// Slot 0: a head that an earlier share began; slot 1: one that a later share ends.
  [[nodiscard]] Partial partial(int share, int slot) const {
    float* from = at(share, args_.partial_at) + slot * rows_ * (2 + args_.v_dim);
    return {reinterpret_cast<RowState*>(from), from + 2 * rows_};
  }
  void keep(int share, int slot) const {
    const Partial to = partial(share, slot);
    for (Index r = 0; r < rows_; ++r) {
      to.state[r] = state_[r];
    }
    gather(sums_, 1, rows_ * args_.v_dim, to.sums);
  }
  /// Adds another range of keys of the same head to `into`.
  void combine(const Partial& into, const Partial& other) const {
    for (Index r = 0; r < rows_; ++r) {
      const float top = into.state[r].top > other.state[r].top ? into.state[r].top : other.state[r].top;
      const float mine = top == -__builtin_inff() ? 1.0F : exp_one(into.state[r].top - top);
      const float theirs = top == -__builtin_inff() ? 1.0F : exp_one(other.state[r].top - top);
      into.state[r].sum = into.state[r].sum * mine + other.state[r].sum * theirs;
      into.state[r].top = top;
      float* sums = into.sums + r * args_.v_dim;
      map_rows(sums, other.sums + r * args_.v_dim, sums, args_.v_dim,
               [&](Vec a, Vec b) { return fma(b, broadcast(theirs), a * mine); });
    }
  }
  void write(Index head, const Partial& from) {
    head_ = head;
    for (Index r = 0; r < rows_; ++r) {
      std::byte* target = element_to_write(args_.y, offset(args_.y, r));
      float* sums = from.sums + r * args_.v_dim;
      float* y = row_to_write(args_.y, target, sums);
      const Vec factor = broadcast(final_factor(args_, from.state[r]));
      map_row(sums, y, args_.v_dim, [&](Vec v) { return v * factor; });
      write_row(args_.y, y, args_.v_dim, target);
    }
  }

 private:
  float* at(int share, Index from) const {
    return reinterpret_cast<float*>(args_.scratch + share * args_.scratch_stride + from);
  }
  [[nodiscard]] Index offset(const Operand& operand, Index row) const {
    const Position position = position_of(args_.nest, head_ * args_.group + row / args_.n_q);
    return outer_offset(operand, args_.nest, position) + row % args_.n_q * operand.row;
  }

  void visit(Index key, bool first) {
    const Index count = least(args_.tile_keys, args_.n_k - key);
    const Position position = position_of(args_.nest, head_ * args_.group);
    const std::byte* k = element(args_.k, outer_offset(args_.k, args_.nest, position) + key * args_.k.row);
    const std::byte* v = element(args_.v, outer_offset(args_.v, args_.nest, position) + key * args_.v.row);
    for (Index j = 0; j < count; j += kNearKeys) {
      fetch(args_.k, k, j + kNearKeys, args_.qk_dim);
      score(k + j * args_.k.row * (args_.k.bf16 ? 2 : 4), j, least(kNearKeys, count - j));
    }
    fetch(args_.v, v, 0, args_.v_dim);
    for (Index r = 0; r < rows_; ++r) {
      const RowRange whole = args_.row_keys[r % args_.n_q];
      const RowRange keep{whole.begin - key, whole.end - key};
      if (args_.squared_relu) {
        square_row(scores_ + r * tile_width_, count, keep);
        continue;
      }
      const float* bias = nullptr;
      if (args_.bias.address != nullptr) {
        const std::byte* from = element(args_.bias, offset(args_.bias, r) + key * args_.bias.column);
        bias = read_row(args_.bias, from, count, bias_row_);
      }
      const float correction = weigh_row(state_[r], scores_ + r * tile_width_, count, keep, args_.scale, bias);
      if (!first && correction != 1.0F) {
        scale_row(sums_ + r * args_.v_dim, args_.v_dim, correction);
      }
    }
    for (Index j = 0; j < count; j += kNearKeys) {
      fetch(args_.v, v, j + kNearKeys, args_.v_dim);
      mix(v + j * args_.v.row * (args_.v.bf16 ? 2 : 4), j, least(kNearKeys, count - j), !first || j > 0);
    }
  }

  /// Asks for kNearKeys rows from `row` on. Products read several rows beside each other and values in strips, in an
  /// order that no hardware prefetcher follows; what lies past the last row is asked for in vain.
  static void fetch(const Operand& operand, const std::byte* from, Index row, Index width) {
    if (operand.column != 1) {
      return;
    }
    const Index element_bytes = operand.bf16 ? 2 : 4;
    for (Index i = row; i < row + kNearKeys; ++i) {
      const std::byte* line = from + i * operand.row * element_bytes;
      for (Index at = 0; at < width * element_bytes; at += 64) {
        __builtin_prefetch(line + at);
      }
    }
  }

  void score(const std::byte* k, Index j, Index count) {
    float* to = scores_ + j;
    if (args_.k.column != 1) {
      copy_rows_to(args_.k, k, count, args_.qk_dim, k_, args_.qk_dim);
      dots(rows_, args_.qk_dim, q_, args_.qk_dim, k_, args_.qk_dim, count, to, tile_width_);
    } else if (args_.k.bf16) {
      dots(rows_, args_.qk_dim, q_, args_.qk_dim, reinterpret_cast<const Bf16*>(k), args_.k.row, count, to,
           tile_width_);
    } else {
      dots(rows_, args_.qk_dim, q_, args_.qk_dim, reinterpret_cast<const float*>(k), args_.k.row, count, to,
           tile_width_);
    }
  }

  void mix(const std::byte* v, Index j, Index count, bool add) {
    const float* weights = scores_ + j;
    const Index n = args_.v_dim;
    if (args_.v.column != 1) {
      copy_rows_to(args_.v, v, count, n, v_, n);
      mixes(add, rows_, count, weights, tile_width_, v_, n, n, sums_, n);
    } else if (args_.v.bf16) {
      mixes(add, rows_, count, weights, tile_width_, reinterpret_cast<const Bf16*>(v), args_.v.row, n, sums_, n);
    } else {
      mixes(add, rows_, count, weights, tile_width_, reinterpret_cast<const float*>(v), args_.v.row, n, sums_, n);
    }
  }

  const AttentionArgs& args_;
  Index rows_;
  float* q_;
  float* k_;
  float* v_;
  float* scores_;
  float* sums_;
  RowState* state_;
  float* bias_row_;
  Index tile_width_;
  Index head_ = 0;
};

ATTNPROF_INLINE Index heads_of(const AttentionArgs& args) {
  return args.nest.count / args.group;
}
ATTNPROF_INLINE Index tiles_of(const AttentionArgs& args) {
  return (args.visited.end - args.visited.begin + args.tile_keys - 1) / args.tile_keys;
}

/// Phase 0: each share takes an equal part of all key tiles of all heads; heads that lie within a part are finished.
void visit_keys(const AttentionArgs& args, int share, int shares) {
  const Index tiles = tiles_of(args);
  const Range mine = part_of(heads_of(args) * tiles, share, shares);
  DecodeCore core(args, share);
  for (Index flat = mine.begin; flat < mine.end;) {
    const Index head = flat / tiles;
    const Index first = flat % tiles;
    const Index end = least(tiles, first + mine.end - flat);
    core.run(head, first, end);
    if (first == 0 && end == tiles) {
      core.write(head, core.result());
    } else {
      core.keep(share, first > 0 ? 0 : 1);
    }
    flat += end - first;
  }
}

/// Phase 1: the share that began a head which others went on with combines the parts.
void join_heads(const AttentionArgs& args, int share, int shares) {
  const Index tiles = tiles_of(args);
  const Index total = heads_of(args) * tiles;
  const Range mine = part_of(total, share, shares);
  if (mine.begin == mine.end || mine.end % tiles == 0) {
    return; // nothing done, or the last head of this share ends with it
  }
  const Index head = mine.end / tiles;
  if (mine.begin > head * tiles) {
    return; // began elsewhere
  }
  DecodeCore core(args, share);
  const Partial sum = core.partial(share, 1);
  for (int other = share + 1; other < shares; ++other) {
    const Range theirs = part_of(total, other, shares);
    if (theirs.begin == theirs.end) {
      continue;
    }
    if (theirs.begin >= (head + 1) * tiles) {
      break;
    }
    core.combine(sum, core.partial(other, 0));
  }
  core.write(head, sum);
}

void write_zeros(const AttentionArgs& args, int share, int shares) {
  const Range mine = part_of(args.nest.count, share, shares);
  for (Index flat = mine.begin; flat < mine.end; ++flat) {
    const Index to = outer_offset(args.y, args.nest, position_of(args.nest, flat));
    for (Index i = 0; i < args.n_q; ++i) {
      for (Index j = 0; j < args.v_dim; ++j) {
        std::byte* target = element_to_write(args.y, to + i * args.y.row + j * args.y.column);
        args.y.bf16 ? store_one(reinterpret_cast<Bf16*>(target), 0.0F)
                    : store_one(reinterpret_cast<float*>(target), 0.0F);
      }
    }
  }
}

} // namespace

void attention_decode(const AttentionArgs& args, int phase, int share, int shares) {
  if (args.visited.begin >= args.visited.end) {
    if (phase == 0) {
      write_zeros(args, share, shares);
    }
    return;
  }
  phase == 0 ? visit_keys(args, share, shares) : join_heads(args, share, shares);
}

} // namespace attnprof::operators::ATTNPROF_ISA
