#include "operators/kernels/cpu/isa/entries.hpp"
#include "operators/kernels/cpu/isa/panels.hpp"
#include "operators/kernels/cpu/isa/vectors.hpp"

namespace attnprof::operators::ATTNPROF_ISA {
namespace {

using cpu::MatMulArgs;

ATTNPROF_INLINE float* scratch_at(const MatMulArgs& args, int share, Index at) {
  return reinterpret_cast<float*>(args.scratch + share * args.scratch_stride + at);
}

/// A block of rows and columns of one matrix of the batch.
struct Block {
  Position at;
  Index row, rows, column, columns;
};

/// The steps and, where c is not plain f32, the store of a finished block that lies in `c`.
void finish(const MatMulArgs& args, const Block& block, float* c, Index c_row) {
  const Index c_at = outer_offset(args.c, args.nest, block.at) + block.row * args.c.row + block.column * args.c.column;
  for (Index i = 0; i < block.rows; ++i) {
    float* row = c + i * c_row;
    apply_steps(args.steps, args.nest, block.at, block.row + i, block.column, block.columns, row, row);
    write_row(args.c, row, block.columns, element_to_write(args.c, c_at + i * args.c.row));
  }
}

class BlockProduct {
 public:
  BlockProduct(const MatMulArgs& args, int share)
      : args_(args), a_copy_(scratch_at(args, share, args.a_at)), b_copy_(scratch_at(args, share, args.b_at)),
        panel_(scratch_at(args, share, args.panel_at)), c_copy_(scratch_at(args, share, args.c_at)) {}

  /// Packs columns of b for one matrix unless they are the ones packed last (broadcast batches share them).
  void use_columns(const Position& at, Index column, Index columns) {
    if (args_.b_panels) {
      return;
    }
    const std::byte* from = element(args_.b, outer_offset(args_.b, args_.nest, at) + column * args_.b.column);
    if (from != packed_from_) {
      pack_panels(args_.b, from, args_.k, columns, b_copy_);
      packed_from_ = from;
    }
  }

  void run(const Block& block) {
    const bool direct = is_plain(args_.c);
    const Index c_row = direct ? args_.c.row : rounded_up(block.columns, kTileColumns);
    const Index c_at =
        outer_offset(args_.c, args_.nest, block.at) + block.row * args_.c.row + block.column * args_.c.column;
    float* c = direct ? reinterpret_cast<float*>(element_to_write(args_.c, c_at)) : c_copy_;
    const Index a_at = outer_offset(args_.a, args_.nest, block.at) + block.row * args_.a.row;
    for (Index k = 0; k < args_.k; k += args_.block_k) {
      multiply(block, element(args_.a, a_at + k * args_.a.column), k, least(args_.block_k, args_.k - k), c, c_row);
    }
    if (args_.steps.count > 0 || !direct) {
      finish(args_, block, c, c_row);
    }
  }

 private:
  void multiply(const Block& block, const std::byte* a_from, Index k, Index depth, float* c, Index c_row) {
    Factor a = factor_of_rows(reinterpret_cast<const float*>(a_from), args_.a.row);
    if (args_.a_copied) {
      pack_tiles(args_.a, a_from, block.rows, depth, a_copy_);
      a = factor_of_tiles(a_copy_, depth);
    }
    for (Index j = 0; j < block.columns; j += kTileColumns) {
      panel_product(k > 0, block.rows, depth, a, panel_of(block, j, k, depth), c + j, c_row,
                    least(kTileColumns, block.columns - j));
    }
  }

  const float* panel_of(const Block& block, Index j, Index k, Index depth) {
    if (!args_.b_panels) {
      return b_copy_ + j * args_.k + k * kTileColumns;
    }
    const Index at = (block.column + j) * args_.k + k * kTileColumns;
    if (!args_.b.bf16) {
      return reinterpret_cast<const float*>(args_.b.address) + at;
    }
    gather(reinterpret_cast<const Bf16*>(args_.b.address) + at, 1, depth * kTileColumns, panel_);
    return panel_;
  }

  const MatMulArgs& args_;
  float* a_copy_;
  float* b_copy_;
  float* panel_;
  float* c_copy_;
  const std::byte* packed_from_ = nullptr;
};

/// Columns kept in registers or the first-level cache by matvec.
constexpr Index kVectorColumns = 256;

template <class T>
void vector_columns(const MatMulArgs& args, const Block& block, const float* x, Index x_row, float* out) {
  const Operand& b = args.b;
  const auto* from = reinterpret_cast<const T*>(b.address);
  if (args.b_panels) {
    const Index panels = (block.columns + kTileColumns - 1) / kTileColumns;
    panel_vectors(args.m, args.k, x, x_row, from + block.column * args.k, panels, out, kVectorColumns);
    return;
  }
  from += outer_offset(b, args.nest, block.at) + block.column * b.column;
  if (b.column == 1) {
    mixes(false, args.m, args.k, x, x_row, from, b.row, block.columns, out, kVectorColumns);
  } else {
    dots(args.m, args.k, x, x_row, from, b.column, block.columns, out, kVectorColumns);
  }
}

} // namespace

void matmul(const MatMulArgs& args, int share, int /*shares*/) {
  const Index panels = (args.n + kTileColumns - 1) / kTileColumns;
  const Range my_panels = part_of(panels, share % args.column_shares, args.column_shares);
  const Index end_column = least(args.n, my_panels.end * kTileColumns);
  const Index tiles = (args.m + kTileRows - 1) / kTileRows;
  const Range my_tiles = part_of(args.nest.count * tiles, share / args.column_shares, args.row_shares);
  BlockProduct product(args, share);
  for (Index column = my_panels.begin * kTileColumns; column < end_column; column += args.block_columns) {
    for (Index flat = my_tiles.begin; flat < my_tiles.end;) {
      const Index tile = flat % tiles;
      const Index count = least(least(args.block_rows / kTileRows, my_tiles.end - flat), tiles - tile);
      Block block;
      block.at = position_of(args.nest, flat / tiles);
      block.row = tile * kTileRows;
      block.rows = least(count * kTileRows, args.m - block.row);
      block.column = column;
      block.columns = least(args.block_columns, end_column - column);
      product.use_columns(block.at, column, block.columns);
      product.run(block);
      flat += count;
    }
  }
}

void matvec(const MatMulArgs& args, int share, int shares) {
  alignas(64) float out[kFewRows * kVectorColumns];
  const Index panels = (args.n + kTileColumns - 1) / kTileColumns;
  const Range mine = part_of(args.nest.count * panels, share, shares);
  const float* copied = nullptr;
  Index copied_batch = -1;
  for (Index flat = mine.begin; flat < mine.end;) {
    const Index batch = flat / panels;
    const Index panel = flat % panels;
    const Index count = least(least(kVectorColumns / kTileColumns, mine.end - flat), panels - panel);
    Block block;
    block.at = position_of(args.nest, batch);
    block.row = 0;
    block.rows = args.m;
    block.column = panel * kTileColumns;
    block.columns = least(count * kTileColumns, args.n - block.column);
    const std::byte* a_from = element(args.a, outer_offset(args.a, args.nest, block.at));
    const float* x = reinterpret_cast<const float*>(a_from);
    Index x_row = args.a.row;
    if (args.a_copied) {
      x_row = args.k;
      if (batch != copied_batch) {
        copied = scratch_at(args, share, args.a_at);
        copy_rows_to(args.a, a_from, args.m, args.k, scratch_at(args, share, args.a_at), args.k);
        copied_batch = batch;
      }
      x = copied;
    }
    args.b.bf16 ? vector_columns<Bf16>(args, block, x, x_row, out) : vector_columns<float>(args, block, x, x_row, out);
    const Index c_at = outer_offset(args.c, args.nest, block.at) + block.column * args.c.column;
    for (Index r = 0; r < args.m; ++r) {
      float* row = out + r * kVectorColumns;
      apply_steps(args.steps, args.nest, block.at, r, block.column, block.columns, row, row);
      std::byte* to = element_to_write(args.c, c_at + r * args.c.row);
      if (is_plain(args.c)) {
        gather(row, 1, block.columns, reinterpret_cast<float*>(to));
      } else {
        write_row(args.c, row, block.columns, to);
      }
    }
    flat += count;
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
