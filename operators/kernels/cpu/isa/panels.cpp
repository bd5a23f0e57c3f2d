#include "operators/kernels/cpu/isa/panels.hpp"

namespace attnprof::operators::ATTNPROF_ISA {
namespace {

template <class T>
ATTNPROF_INLINE void copy_dense(const T* from, Index n, float* out) {
  Index i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    const Vec a = load(from + i);
    const Vec b = load(from + i + kLanes);
    const Vec c = load(from + i + 2 * kLanes);
    const Vec d = load(from + i + 3 * kLanes);
    store(out + i, a);
    store(out + i + kLanes, b);
    store(out + i + 2 * kLanes, c);
    store(out + i + 3 * kLanes, d);
  }
  for (; i < n; i += kLanes) {
    store_upto(out + i, load_upto(from + i, n - i), n - i);
  }
}

/// out[i * out_row + j] = f32 of from[i * row + j * column].
template <class T>
void to_row_major(const T* from, Index row, Index column, Index rows, Index columns, float* out, Index out_row) {
  if (column == 1) {
    const bool one_piece = row == columns && out_row == columns;
    const Index pieces = one_piece ? 1 : rows;
    const Index length = one_piece ? rows * columns : columns;
    for (Index i = 0; i < pieces; ++i) {
      copy_dense(from + i * row, length, out + i * out_row);
    }
    return;
  }
  const Index whole_rows = row == 1 ? rows / kLanes * kLanes : 0;
  const Index whole_columns = columns / kLanes * kLanes;
  for (Index j = 0; j < whole_columns; j += kLanes) {
    for (Index i = 0; i < whole_rows; i += kLanes) {
      Vec tile[kLanes];
#pragma GCC unroll 16
      for (int u = 0; u < kLanes; ++u) {
        tile[u] = load(from + i + (j + u) * column);
      }
      transpose(tile);
#pragma GCC unroll 16
      for (int u = 0; u < kLanes; ++u) {
        store(out + (i + u) * out_row + j, tile[u]);
      }
    }
  }
  for (Index i = 0; i < rows; ++i) {
    for (Index j = i < whole_rows ? whole_columns : 0; j < columns; ++j) {
      out[i * out_row + j] = load_one(from + i * row + j * column);
    }
  }
}

/// Columns [j, j + kLanes) of up to kTileRows dense rows, turned. Stores overlap: lanes past the tile's rows fall on
/// the next column, which is written later. Where a tile has more rows than a vector lanes, its upper part goes first
/// for that reason.
template <class T>
ATTNPROF_INLINE void turn_rows(const T* from, Index row, Index rows, float* out) {
  constexpr int kLastGroup = (kTileRows - 1) / kLanes * kLanes;
#pragma GCC unroll 4
  for (int group = kLastGroup; group >= 0; group -= kLanes) {
    Vec tile[kLanes];
#pragma GCC unroll 16
    for (int u = 0; u < kLanes; ++u) {
      tile[u] = group + u < rows && group + u < kTileRows ? load(from + (group + u) * row) : zero();
    }
    transpose(tile);
#pragma GCC unroll 16
    for (int u = 0; u < kLanes; ++u) {
      store(out + u * kTileRows + group, tile[u]);
    }
  }
}

/// [columns][kTileRows] from rows of any stride.
template <class T>
void pack_tile(const T* from, Index row, Index column, Index rows, Index columns, float* out) {
  Index j = 0;
  if (column == 1) {
    for (; j + kLanes <= columns; j += kLanes) {
      turn_rows(from + j, row, rows, out + j * kTileRows);
    }
  }
  if (row == 1 && kTileRows <= kLanes) {
    for (; j < columns; ++j) {
      store(out + j * kTileRows, load_first(from + j * column, rows));
    }
  }
  for (; j < columns; ++j) {
    for (Index i = 0; i < rows; ++i) {
      out[j * kTileRows + i] = load_one(from + i * row + j * column);
    }
  }
}

/// Adds column kk of the left and row kk of the right factor to the sums.
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

/// Sums of one register tile: c[R][columns] (+)= a[R][k] * b[k][kTileColumns]; only the last of V vectors may be
/// partial.
template <int R, int V>
void tile_product(bool add, Index k, const float* a, Index a_row, Index a_column, const float* b, float* c, Index c_row,
                  Index columns) {
  Vec sums[R][V];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      sums[i][v] = zero();
    }
  }
  // The lines of c arrive while the sums are made; the store buffer would fill up with stores that wait for them.
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    __builtin_prefetch(c + i * c_row, 1);
    __builtin_prefetch(c + i * c_row + columns - 1, 1);
  }
#pragma GCC unroll 4
  for (Index kk = 0; kk < k; ++kk) {
    add_outer_product(sums, a, a_row, b);
    a += a_column;
    b += kTileColumns;
  }
  if (columns == V * kLanes) {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) {
        float* to = c + i * c_row + v * kLanes;
        store(to, add ? sums[i][v] + load(to) : sums[i][v]);
      }
    }
    return;
  }
  const Index last = columns - (V - 1) * kLanes;
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    float* to = c + i * c_row;
    if (V == 2) {
      store(to, add ? sums[i][0] + load(to) : sums[i][0]);
    }
    float* end = to + (V - 1) * kLanes;
    store_first(end, add ? sums[i][V - 1] + load_first(end, last) : sums[i][V - 1], last);
  }
}

template <int R, int V>
ATTNPROF_INLINE void tile_of_rows(bool add, Index rows, Index k, const float* a, Index a_row, Index a_column,
                                  const float* b, float* c, Index c_row, Index columns) {
  if constexpr (R > 1) {
    if (rows < R) {
      tile_of_rows<R - 1, V>(add, rows, k, a, a_row, a_column, b, c, c_row, columns);
      return;
    }
  }
  tile_product<R, V>(add, k, a, a_row, a_column, b, c, c_row, columns);
}

} // namespace

void copy_rows_to(const Operand& operand, const std::byte* from, Index rows, Index columns, float* out, Index out_row) {
  if (operand.bf16) {
    to_row_major(reinterpret_cast<const Bf16*>(from), operand.row, operand.column, rows, columns, out, out_row);
  } else {
    to_row_major(reinterpret_cast<const float*>(from), operand.row, operand.column, rows, columns, out, out_row);
  }
}

void pack_panels(const Operand& operand, const std::byte* from, Index rows, Index columns, float* out) {
  for (Index j = 0; j < columns; j += kTileColumns) {
    const Index width = least(kTileColumns, columns - j);
    float* panel = out + j * rows;
    copy_rows_to(operand, from + j * operand.column * (operand.bf16 ? 2 : 4), rows, width, panel, kTileColumns);
    if (width < kTileColumns) {
      for (Index i = 0; i < rows; ++i) {
        for (Index u = width; u < kTileColumns; ++u) {
          panel[i * kTileColumns + u] = 0.0F;
        }
      }
    }
  }
}

void pack_tiles(const Operand& operand, const std::byte* from, Index rows, Index columns, float* out) {
  for (Index i = 0; i < rows; i += kTileRows) {
    const Index count = least(kTileRows, rows - i);
    const Index offset = i * operand.row;
    if (operand.bf16) {
      pack_tile(reinterpret_cast<const Bf16*>(from) + offset, operand.row, operand.column, count, columns, out);
    } else {
      pack_tile(reinterpret_cast<const float*>(from) + offset, operand.row, operand.column, count, columns, out);
    }
    out += kTileRows * columns;
  }
}

void panel_product(bool add, Index rows, Index k, const Factor& a, const float* panel, float* c, Index c_row,
                   Index columns) {
  static_assert(kTileVectors == 2);
  const float* at = a.at;
  for (Index i = 0; i < rows; i += kTileRows) {
    const Index count = least(kTileRows, rows - i);
    if (columns > kLanes) {
      tile_of_rows<kTileRows, 2>(add, count, k, at, a.row, a.column, panel, c + i * c_row, c_row, columns);
    } else {
      tile_of_rows<kTileRows, 1>(add, count, k, at, a.row, a.column, panel, c + i * c_row, c_row, columns);
    }
    at += a.tile;
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
