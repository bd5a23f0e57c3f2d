#include "operators/kernels/cpu/isa/attention_tile.hpp"
#include "operators/kernels/cpu/isa/decode_tile.hpp"
#include "operators/kernels/cpu/isa/entries.hpp"
#include "operators/kernels/cpu/isa/panels.hpp"

namespace attnprof::operators::ATTNPROF_ISA {
namespace {

using cpu::AttentionArgs;

/// Partial result of one share for one key head: state of each row and what it mixed.
struct Partial {
  RowStates state;
  float* mixed;
};

/// All query rows of one key head (group x n_q, few) against a range of keys, which are read once and in place.
class DecodeCore {
 public:
  DecodeCore(const AttentionArgs& args, int share)
      : args_(args), rows_(args.group * args.n_q), q_(at(share, args.q_at)), k_(at(share, args.k_at)),
        v_(at(share, args.v_at)), scores_(at(share, args.scores_at)), mixed_(at(share, args.sums_at)),
        state_(RowStates::in(at(share, args.state_at), rows_)),
        bias_row_(at(share, args.state_at) + RowStates::floats(rows_)),
        tile_width_(cpu::staggered(args.tile_keys, kLanes)), q_row_(cpu::staggered(args.qk_dim, kLanes)) {}

  void run(Index head, Index first_tile, Index end_tile) {
    head_ = head;
    state_.clear(rows_);
    for (Index i = 0; i < rows_ * args_.v_dim; ++i) {
      mixed_[i] = 0.0F;
    }
    for (Index r = 0; r < rows_; ++r) {
      const Operand& q = args_.q;
      read_into(q, element(q, offset(q, r)), args_.qk_dim, q_ + r * q_row_);
    }
    for (Index tile = first_tile; tile < end_tile; ++tile) {
      visit(args_.visited.begin + tile * args_.tile_keys, tile == first_tile);
    }
  }
  [[nodiscard]] Partial result() const { return {state_, mixed_}; }

  /// Slot 0: a head that an earlier share began; slot 1: one that a later share ends.
  [[nodiscard]] Partial partial(int share, int slot) const {
    const Index state = RowStates::floats(rows_);
    float* from = at(share, args_.partial_at) + slot * (state + rows_ * args_.v_dim);
    return {RowStates::in(from, rows_), from + state};
  }
  void keep(int share, int slot) const {
    const Partial to = partial(share, slot);
    gather(state_.top, 1, RowStates::floats(rows_), to.state.top);
    gather(mixed_, 1, rows_ * args_.v_dim, to.mixed);
  }
  /// Adds another range of keys of the same head to `into`.
  void combine(const Partial& into, const Partial& other) const {
    for (Index r = 0; r < rows_; ++r) {
      float& top = into.state.top[r];
      const float other_top = other.state.top[r];
      const float common = top > other_top ? top : other_top;
      const bool nothing = common == -__builtin_inff();
      const float mine = nothing ? 1.0F : exp2_nonpositive(broadcast(top - common))[0];
      const float theirs = nothing ? 1.0F : exp2_nonpositive(broadcast(other_top - common))[0];
      const auto join = [&](auto a, auto b) ATTNPROF_INLINE_LAMBDA { return fma(b, theirs, a * mine); };
      float* sums = into.state.sums + r * kLanes;
      map_rows(sums, other.state.sums + r * kLanes, sums, kLanes, join);
      float* mixed = into.mixed + r * args_.v_dim;
      map_rows(mixed, other.mixed + r * args_.v_dim, mixed, args_.v_dim, join);
      top = common;
    }
  }
  void write(Index head, const Partial& from) {
    head_ = head;
    for (Index r = 0; r < rows_; ++r) {
      std::byte* target = element_to_write(args_.y, offset(args_.y, r));
      float* mixed = from.mixed + r * args_.v_dim;
      float* y = row_to_write(args_.y, target, mixed);
      scale_row(mixed, y, args_.v_dim, final_factor(args_, from.state.sum(r)));
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

  /// `key` of k or v: where it lies for the head at hand.
  [[nodiscard]] const std::byte* key_of(const Operand& operand, Index key) const {
    const Position position = position_of(args_.nest, head_ * args_.group);
    return element(operand, outer_offset(operand, args_.nest, position) + key * operand.row);
  }
  void visit(Index key, bool first) {
    const Index count = least(args_.tile_keys, args_.n_k - key);
    score(key_of(args_.k, key), count);
    weigh(key, count, first);
    mix(key_of(args_.v, key), count);
  }

  void weigh(Index key, Index count, bool first) {
    const auto keep = [&](Index r) {
      const RowRange whole = args_.row_keys[r % args_.n_q];
      return RowRange{whole.begin - key, whole.end - key};
    };
    if (args_.squared_relu) {
      for (Index r = 0; r < rows_; ++r) {
        square_row(scores_ + r * tile_width_, count, keep(r));
      }
      return;
    }
    weigh_rows(state_, 0, rows_, scores_, tile_width_, count, args_.scale, keep, [&](Index r) {
      const Operand& bias = args_.bias;
      return bias.address == nullptr
                 ? nullptr
                 : read_row(bias, element(bias, offset(bias, r) + key * bias.column), count, bias_row_);
    });
    for (Index r = 0; !first && r < rows_; ++r) {
      if (state_.correction[r] != 1.0F) {
        scale_row(mixed_ + r * args_.v_dim, mixed_ + r * args_.v_dim, args_.v_dim, state_.correction[r]);
      }
    }
  }

  /// use(rows, row, first, count): all rows of a tile in place where their columns are dense, else some at a time,
  /// copied.
  template <class Use>
  void with_rows(const Operand& operand, const std::byte* tile, Index count, Index width, float* copy, Use&& use) {
    if (operand.column == 1 && operand.bf16) {
      use(reinterpret_cast<const Bf16*>(tile), operand.row, Index{0}, count);
      return;
    }
    if (operand.column == 1) {
      use(reinterpret_cast<const float*>(tile), operand.row, Index{0}, count);
      return;
    }
    for (Index j = 0; j < count; j += cpu::kCopiedKeys) {
      const Index some = least(cpu::kCopiedKeys, count - j);
      copy_rows_to(operand, tile + j * operand.row * (operand.bf16 ? 2 : 4), some, width, copy, width);
      use(static_cast<const float*>(copy), width, j, some);
    }
  }

  void score(const std::byte* tile, Index keys) {
    const Index width = args_.qk_dim;
    with_rows(args_.k, tile, keys, width, k_, [&](const auto* k, Index row, Index first, Index count) {
      for_row_parts(rows_, [&]<int R>(Index r) {
        score_rows<R>(q_ + r * q_row_, q_row_, width, k, row, count, scores_ + r * tile_width_ + first, tile_width_);
      });
    });
  }

  void mix(const std::byte* tile, Index keys) {
    const Index width = args_.v_dim;
    with_rows(args_.v, tile, keys, width, v_, [&](const auto* v, Index row, Index first, Index count) {
      for_row_parts(rows_, [&]<int R>(Index r) {
        mix_rows<R>(scores_ + r * tile_width_ + first, tile_width_, count, v, row, mixed_ + r * width, width);
      });
    });
  }

  const AttentionArgs& args_;
  Index rows_;
  float* q_;
  float* k_;
  float* v_;
  float* scores_;
  float* mixed_;
  RowStates state_;
  float* bias_row_;
  Index tile_width_; ///< of a row of scores
  Index q_row_;
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
