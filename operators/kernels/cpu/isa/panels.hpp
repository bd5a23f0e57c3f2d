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

/// The left factor of a product: element (i, k) of tile t at at[t * tile + i * row + k * column].
struct Factor {
  const float* at;
  Index tile, row, column;
};
ATTNPROF_INLINE Factor factor_of_rows(const float* a, Index row, Index column) {
  return {a, kTileRows * row, row, column};
}
ATTNPROF_INLINE Factor factor_of_tiles(const float* packed, Index columns) {
  return {packed, kTileRows * columns, 1, kTileRows};
}

/// Adds column kk of the left and row kk of the right factor to the sums of a register tile.
template <int R, int V>
ATTNPROF_INLINE void add_outer_product(Vec (&sums)[R][V], const float* a, Index a_row, const float* b) {
  Vec row[V];
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) {
    row[v] = load(b + v * kLanes);
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    const Vec factor = broadcast(a[i * a_row]);
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      sums[i][v] = fma(factor, row[v], sums[i][v]);
    }
  }
}

/// The sums of a register tile: sums[R][V vectors] = a[R][k] * b[k][kTileColumns].
template <int R, int V>
ATTNPROF_INLINE void sum_outer_products(Vec (&sums)[R][V], Index k, const float* a, Index a_row, Index a_column,
                                        const float* b) {
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      sums[i][v] = zero();
    }
  }
#pragma GCC unroll 4
  for (Index kk = 0; kk < k; ++kk) {
    add_outer_product(sums, a, a_row, b);
    a += a_column;
    b += kTileColumns;
  }
}

/// to[R][V vectors] (+)= the sums of a register tile.
template <int R, int V>
ATTNPROF_INLINE void store_tile(bool add, const Vec (&sums)[R][V], float* to, Index row) {
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      float* at = to + i * row + v * kLanes;
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

/// c[rows][columns] (+)= a[rows][k] * one panel, register tile by register tile; columns <= kTileColumns.
void panel_product(bool add, Index rows, Index k, const Factor& a, const float* panel, float* c, Index c_row,
                   Index columns);

} // namespace attnprof::operators::ATTNPROF_ISA
