#pragma once
#include "operators/kernels/cpu/isa/rows.hpp"

// Register tiles of matrix products and the copies that feed them.
namespace attnprof::operators::ATTNPROF_ISA {

/// out[i * out_row + j] = element (i, j) of the rows and columns that start at `from`, as f32.
void copy_rows_to(const Operand& operand, const std::byte* from, Index rows, Index columns, float* out, Index out_row);

/// Panels of kTileColumns columns, zero padded: [columns / kTileColumns][rows][kTileColumns].
void pack_panels(const Operand& operand, const std::byte* from, Index rows, Index columns, float* out);

/// c[rows][columns] (+)= a[rows][k] * one panel, register tile by register tile; columns <= kTileColumns.
void panel_product(bool add, Index rows, Index k, const float* a, Index a_row, Index a_column, const float* panel,
                   float* c, Index c_row, Index columns);

} // namespace attnprof::operators::ATTNPROF_ISA
