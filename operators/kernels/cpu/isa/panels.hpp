#pragma once
#include "operators/kernels/cpu/isa/rows.hpp"

// Register tiles of matrix products and the copies that feed them.
namespace attnprof::operators::ATTNPROF_ISA {

/// out[i * out_row + j] = element (i, j) of the rows and columns that start at `from`, as f32.
void copy_rows_to(const Operand& operand, const std::byte* from, Index rows, Index columns, float* out, Index out_row);

/// Panels of kTileColumns columns, zero padded: [columns / kTileColumns][rows][kTileColumns].
void pack_panels(const Operand& operand, const std::byte* from, Index rows, Index columns, float* out);

/// Tiles of kTileRows rows, each [columns][kTileRows], so that a register tile reads its factors one after another:
/// read from rows that lie a power of two apart they compete for one cache bank. Rows past the last are arbitrary.
/// `out` has room for one vector more.
void pack_tiles(const Operand& operand, const std::byte* from, Index rows, Index columns, float* out);

/// The left factor of a product: rows where they lie, `row` floats apart and dense, or tiles of pack_tiles.
struct Factor {
  const float* at;
  Index tile; ///< floats from one tile of kTileRows rows to the next
  Index row;  ///< of rows where they lie
  bool packed;
};
ATTNPROF_INLINE Factor factor_of_rows(const float* a, Index row) {
  return {a, kTileRows * row, row, false};
}
ATTNPROF_INLINE Factor factor_of_tiles(const float* packed, Index columns) {
  return {packed, kTileRows * columns, 0, true};
}

/// What a register tile reads of its left factor, packed (or RowsInPlace): value(i) of row i, column by column.
struct PackedRows {
  const float* at;

  [[nodiscard]] ATTNPROF_INLINE_MEMBER float value(int i) const { return at[i]; }
  ATTNPROF_INLINE_MEMBER void advance() { at += kTileRows; }
};
/// Adds the column of the left and the row of the right factor that they stand at to the sums of a register tile.
template <int R, int V, class Rows>
ATTNPROF_INLINE void add_outer_product(Vec (&sums)[R][V], const Rows& a, const float* b) {
  Vec row[V];
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) {
    row[v] = load(b + v * kLanes);
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    const Vec factor = broadcast(a.value(i));
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      sums[i][v] = fma(factor, row[v], sums[i][v]);
    }
  }
}
/// Moves `a` and `b` behind the columns and rows that were added.
template <int R, int V, class Rows>
ATTNPROF_INLINE void add_outer_products(Vec (&sums)[R][V], Index depth, Rows& a, const float*& b) {
#pragma GCC unroll 4
  for (Index k = 0; k < depth; ++k) {
    add_outer_product(sums, a, b);
    a.advance();
    b += kTileColumns;
  }
}

template <int R, int V>
ATTNPROF_INLINE void clear_tile(Vec (&sums)[R][V]) {
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      sums[i][v] = zero();
    }
  }
}
/// The sums of a register tile: sums[R][V vectors] = a[R][depth] * b[depth][kTileColumns].
template <int R, int V, class Rows>
ATTNPROF_INLINE void sum_outer_products(Vec (&sums)[R][V], Index depth, Rows a, const float* b) {
  clear_tile(sums);
  add_outer_products(sums, depth, a, b);
}

/// to[R][V vectors] (+)= the sums of a register tile.
template <int R, int V>
ATTNPROF_INLINE void store_tile(bool add, const Vec (&sums)[R][V], const RowsInPlace<R, float>& to) {
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      float* at = to.address(i) + v * kLanes;
      store(at, add ? sums[i][v] + load(at) : sums[i][v]);
    }
  }
}

/// f.operator()<R>() with R = rows, 1 <= rows <= kTileRows.
template <int R = kTileRows, class F>
ATTNPROF_INLINE void with_row_count(Index rows, F&& f) {
  if constexpr (R > 1) {
    if (rows < R) {
      with_row_count<R - 1>(rows, f);
      return;
    }
  }
  f.template operator()<R>();
}

/// c[rows][columns] (+)= a[rows][depth] * one panel, register tile by register tile; columns <= kTileColumns.
void panel_product(bool add, Index rows, Index depth, const Factor& a, const float* panel, float* c, Index c_row,
                   Index columns);

} // namespace attnprof::operators::ATTNPROF_ISA
