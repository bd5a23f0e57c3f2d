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
      load_turned(from + i + j * column, column, tile);
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
  const RowsInPlace<kTileRows, const T> rows_of(from, row);
#pragma GCC unroll 4
  for (int group = kLastGroup; group >= 0; group -= kLanes) {
    Vec tile[kLanes];
#pragma GCC unroll 16
    for (int u = 0; u < kLanes; ++u) {
      tile[u] = group + u < rows && group + u < kTileRows ? load(rows_of.address(group + u)) : zero();
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

/// As sum_outer_products, from rows of a that lie further away than the first-level cache: each line of them that is
/// used asks for its neighbour in the next tile's rows, which are too many streams for hardware to follow.
template <int R, int V>
ATTNPROF_INLINE void sum_far_rows(Vec (&sums)[R][V], Index depth, RowsInPlace<R> a, const float* b) {
  RowsInPlace<R> next(a.at[0] + R * a.row, a.row);
  clear_tile(sums);
  next.advance(depth % kLineFloats);
  add_outer_products(sums, depth % kLineFloats, a, b);
  for (Index k = depth / kLineFloats; k > 0; --k) {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      __builtin_prefetch(next.address(i));
    }
    next.advance(kLineFloats);
    add_outer_products(sums, kLineFloats, a, b);
  }
}

/// c[R][columns] (+)= the sums of a register tile; only the last of V vectors may be partial.
template <int R, int V>
ATTNPROF_INLINE void store_columns(bool add, const Vec (&sums)[R][V], const RowsInPlace<R, float>& c, Index columns) {
  if (columns == V * kLanes) {
    store_tile(add, sums, c);
    return;
  }
  const Index last = columns - (V - 1) * kLanes;
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    float* to = c.address(i);
    if (V == 2) {
      store(to, add ? sums[i][0] + load(to) : sums[i][0]);
    }
    float* end = to + (V - 1) * kLanes;
    store_first(end, add ? sums[i][V - 1] + load_first(end, last) : sums[i][V - 1], last);
  }
}

/// One register tile of a panel, whose rows of `a` begin at a_at: c[R][columns] (+)= a[R][depth] *
/// b[depth][kTileColumns].
template <int R, int V>
void tile_product(bool add, Index depth, const Factor& a, const float* a_at, const float* b, float* c, Index c_row,
                  Index columns, bool far_rows) {
  const RowsInPlace<R, float> to(c, c_row);
  // The lines of c arrive while the sums are made; the store buffer would fill up with stores that wait for them.
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    __builtin_prefetch(to.address(i), 1);
    __builtin_prefetch(to.address(i) + columns - 1, 1);
  }
  Vec sums[R][V];
  if (far_rows) {
    sum_far_rows(sums, depth, RowsInPlace<R>(a_at, a.row), b);
  } else if (a.packed) {
    sum_outer_products(sums, depth, PackedRows{a_at}, b);
  } else {
    sum_outer_products(sums, depth, RowsInPlace<R>(a_at, a.row), b);
  }
  store_columns(add, sums, to, columns);
}

template <class T>
void rows_to_panels(const T* from, Index row, Index rows, Index columns, float* out) {
  // So many panels at a time that each is a stream of its own.
  constexpr Index kPanels = 8;
  for (Index first = 0; first < columns; first += kPanels * kTileColumns) {
    const Index width = least(kPanels * kTileColumns, columns - first);
    for (Index i = 0; i < rows; ++i) {
      const T* line = from + i * row + first;
      float* to = out + first * rows + i * kTileColumns;
      Index j = 0;
      for (; j + kTileColumns <= width; j += kTileColumns) {
        const Vec a = load(line + j);
        const Vec b = load(line + j + kLanes);
        store(to, a);
        store(to + kLanes, b);
        to += rows * kTileColumns;
      }
      if (j < width) {
        const Index left = width - j;
        store(to, load_upto(line + j, left));
        store(to + kLanes, left > kLanes ? load_first(line + j + kLanes, left - kLanes) : zero());
      }
    }
  }
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
  static_assert(kTileVectors == 2);
  if (operand.column == 1) {
    operand.bf16 ? rows_to_panels(reinterpret_cast<const Bf16*>(from), operand.row, rows, columns, out)
                 : rows_to_panels(reinterpret_cast<const float*>(from), operand.row, rows, columns, out);
    return;
  }
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

void panel_product(bool add, Index rows, Index depth, const Factor& a, const float* panel, float* c, Index c_row,
                   Index columns) {
  static_assert(kTileVectors == 2);
  constexpr Index kFar = 8192; // floats: 32 KiB, a first-level cache
  const bool far_rows = !a.packed && rows * depth > kFar;
  const float* at = a.at;
  for (Index i = 0; i < rows; i += kTileRows) {
    with_row_count(least(kTileRows, rows - i), [&]<int R>() {
      columns > kLanes ? tile_product<R, 2>(add, depth, a, at, panel, c + i * c_row, c_row, columns, far_rows)
                       : tile_product<R, 1>(add, depth, a, at, panel, c + i * c_row, c_row, columns, far_rows);
    });
    at += a.tile;
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
