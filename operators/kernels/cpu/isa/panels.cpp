#include "operators/kernels/cpu/isa/panels.hpp"

namespace attnprof::operators::ATTNPROF_ISA {
namespace {

/// out[i * out_row + j] = f32 of from[i * row + j * column].
template <class T>
void to_row_major(const T* from, Index row, Index column, Index rows, Index columns, float* out, Index out_row) {
  if (column == 1) {
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < columns; j += kLanes) {
        store_upto(out + i * out_row + j, load_upto(from + i * row + j, columns - j), columns - j);
      }
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
  for (Index kk = 0; kk < k; ++kk) {
    Vec row[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      row[v] = load(b + v * kLanes);
    }
    b += kTileColumns;
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const Vec factor = broadcast(a[i * a_row]);
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) {
        sums[i][v] = fma(factor, row[v], sums[i][v]);
      }
    }
    a += a_column;
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

void panel_product(bool add, Index rows, Index k, const float* a, Index a_row, Index a_column, const float* panel,
                   float* c, Index c_row, Index columns) {
  static_assert(kTileVectors == 2);
  for (Index i = 0; i < rows; i += kTileRows) {
    const Index count = least(kTileRows, rows - i);
    const float* at = a + i * a_row;
    float* to = c + i * c_row;
    if (columns > kLanes) {
      tile_of_rows<kTileRows, 2>(add, count, k, at, a_row, a_column, panel, to, c_row, columns);
    } else {
      tile_of_rows<kTileRows, 1>(add, count, k, at, a_row, a_column, panel, to, c_row, columns);
    }
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
