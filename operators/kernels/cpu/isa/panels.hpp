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

/// c[rows][columns] (+)= a[rows][k] * one panel, register tile by register tile; columns <= kTileColumns.
void panel_product(bool add, Index rows, Index k, const Factor& a, const float* panel, float* c, Index c_row,
                   Index columns);

} // namespace attnprof::operators::ATTNPROF_ISA
