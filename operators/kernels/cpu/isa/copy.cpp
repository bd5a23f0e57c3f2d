#include "operators/kernels/cpu/isa/entries.hpp"
#include "operators/kernels/cpu/isa/rows.hpp"

namespace attnprof::operators::ATTNPROF_ISA {
namespace {

using cpu::RowsArgs;

template <int kCount, bool kStream, class In, class Out>
ATTNPROF_INLINE void copy_vectors(const In* x, Out* y) {
  Vec vectors[kCount];
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    vectors[i] = load(x + i * kLanes);
  }
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    if constexpr (kStream) {
      store_stream(y + i * kLanes, vectors[i]);
    } else {
      store(y + i * kLanes, vectors[i]);
    }
  }
}

template <class In, class Out>
ATTNPROF_INLINE void copy_segment(const In* x, Index x_stride, Out* y, Index y_stride, Index n, bool stream) {
  if (x_stride == 1 && y_stride == 1) {
    Index i = 0;
    if constexpr (sizeof(Out) == 4) {
      if (stream) {
        for (; i < n && reinterpret_cast<std::uintptr_t>(y + i) % sizeof(Vec) != 0; ++i) {
          store_one(y + i, load_one(x + i));
        }
        for (; i + kLanes <= n; i += kLanes) {
          store_stream(y + i, load(x + i));
        }
      }
    }
    // Eight loads before their stores: a head's row is one round, and loads of the next rows start early.
    for (; i + 8 * kLanes <= n; i += 8 * kLanes) {
      copy_vectors<8, false>(x + i, y + i);
    }
    for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
      copy_vectors<2, false>(x + i, y + i);
    }
    for (; i < n; i += kLanes) {
      store_upto(y + i, load_upto(x + i, n - i), n - i);
    }
    return;
  }
  for (Index i = 0; i < n; ++i) {
    store_one(y + i * y_stride, load_one(x + i * x_stride));
  }
}

/// Floats that are loaded before the first of them is stored: a head's row is one round.
constexpr Index kRound = 64;

/// Rows of whole rounds.
template <bool kStream, class In, class Out>
ATTNPROF_INLINE void copy_rounds(const In* x, Index x_row, Out* y, Index y_row, Index rows, Index columns) {
  for (Index r = 0; r < rows; ++r) {
    for (Index i = 0; i < columns; i += kRound) {
      copy_vectors<kRound / kLanes, kStream>(x + i, y + i);
    }
    x += x_row;
    y += y_row;
  }
}

/// Rows of one segment, dense on both sides: the address of the next row is one addition away.
template <class In, class Out>
void copy_dense_rows(const RowsArgs& args, Range mine) {
  const auto* x = reinterpret_cast<const In*>(args.x.address);
  auto* y = reinterpret_cast<Out*>(args.y.address);
  const Index x_row = args.x.row;
  const Index y_row = args.y.row;
  const Index columns = args.columns;
  const bool stream = args.stream;
  Position at = position_of(args.nest, mine.begin / args.rows);
  Index row = mine.begin % args.rows;
  for (Index flat = mine.begin; flat < mine.end;) {
    const Index count = least(args.rows - row, mine.end - flat);
    const In* from = x + outer_offset(args.x, args.nest, at) + row * x_row;
    Out* to = y + outer_offset(args.y, args.nest, at) + row * y_row;
    const bool aligned = reinterpret_cast<std::uintptr_t>(to) % sizeof(Vec) == 0 && y_row % kLanes == 0;
    if (columns % kRound == 0 && !stream) {
      copy_rounds<false>(from, x_row, to, y_row, count, columns);
    } else if (sizeof(Out) == 4 && columns % kRound == 0 && aligned) {
      if constexpr (sizeof(Out) == 4) {
        copy_rounds<true>(from, x_row, to, y_row, count, columns);
      }
    } else {
      for (Index r = 0; r < count; ++r) {
        copy_segment(from + r * x_row, 1, to + r * y_row, 1, columns, stream);
      }
    }
    flat += count;
    row = 0;
    advance(args.nest, at);
  }
  if (stream) {
    fence_streams();
  }
}

template <class In, class Out>
void copy_typed(const RowsArgs& args, int share, int shares) {
  const Index length = segment_of(args.columns, shares);
  const Index segments = (args.columns + length - 1) / length;
  const Index per_nest = args.rows * segments;
  const Range mine = part_of(args.nest.count * per_nest, share, shares);
  if (mine.begin >= mine.end) {
    return;
  }
  if (segments == 1 && args.x.column == 1 && args.y.column == 1) {
    copy_dense_rows<In, Out>(args, mine);
    return;
  }
  Position at = position_of(args.nest, mine.begin / per_nest);
  Index row = mine.begin % per_nest / segments;
  Index segment = mine.begin % segments;
  const auto* x = reinterpret_cast<const In*>(args.x.address);
  auto* y = reinterpret_cast<Out*>(args.y.address);
  for (Index flat = mine.begin; flat < mine.end; ++flat) {
    const Index column = segment * length;
    const Index x_at = outer_offset(args.x, args.nest, at) + row * args.x.row + column * args.x.column;
    const Index y_at = outer_offset(args.y, args.nest, at) + row * args.y.row + column * args.y.column;
    copy_segment(x + x_at, args.x.column, y + y_at, args.y.column, least(length, args.columns - column), args.stream);
    if (++segment == segments) {
      segment = 0;
      if (++row == args.rows) {
        row = 0;
        advance(args.nest, at);
      }
    }
  }
  if (args.stream) {
    fence_streams();
  }
}

/// A block that fills whole cache lines of both sides.
constexpr Index kSide = 16;

/// A whole block. Past the caches each line of y is finished before the next one, so that it leaves at once; else tile
/// by tile, which needs half of the registers.
template <bool kStream, class In, class Out>
ATTNPROF_INLINE void transpose_whole(const In* x, Index x_column, Out* y, Index y_row) {
  constexpr int kTiles = static_cast<int>(kSide) / kLanes;
  constexpr int kTogether = kStream ? kTiles : 1;
#pragma GCC unroll 4
  for (int r = 0; r < kTiles; ++r) {
#pragma GCC unroll 4
    for (int t = 0; t < kTiles; t += kTogether) {
      Vec tiles[kTogether][kLanes];
#pragma GCC unroll 4
      for (int u = 0; u < kTogether; ++u) {
        load_turned(x + (t + u) * kLanes * x_column + r * kLanes, x_column, tiles[u]);
      }
      Out* to = y + r * kLanes * y_row + t * kLanes;
      asm("" : "+r"(to)); // or the compiler keeps sixteen addresses of rows on the stack from block to block
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
#pragma GCC unroll 4
        for (int u = 0; u < kTogether; ++u) {
          if constexpr (kStream) {
            store_stream(to + u * kLanes, tiles[u][i]);
          } else {
            store(to + u * kLanes, tiles[u][i]);
          }
        }
        to += y_row;
      }
    }
  }
}

template <class In, class Out>
void transpose_block(const In* x, Index x_column, Out* y, Index y_row, Index rows, Index columns) {
  const Index whole_rows = rows / kLanes * kLanes;
  const Index whole_columns = columns / kLanes * kLanes;
  for (Index r = 0; r < whole_rows; r += kLanes) {
    for (Index c = 0; c < whole_columns; c += kLanes) {
      Vec tile[kLanes];
      load_turned(x + c * x_column + r, x_column, tile);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        store(y + (r + i) * y_row + c, tile[i]);
      }
    }
  }
  for (Index r = 0; r < rows; ++r) {
    for (Index c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
      store_one(y + r * y_row + c, load_one(x + c * x_column + r));
    }
  }
}

template <class In, class Out>
void transpose_typed(const RowsArgs& args, int share, int shares) {
  const Index row_blocks = (args.rows + kSide - 1) / kSide;
  const Range mine = part_of(args.nest.count * row_blocks, share, shares);
  const auto* x = reinterpret_cast<const In*>(args.x.address);
  auto* y = reinterpret_cast<Out*>(args.y.address);
  bool stream = false;
  if constexpr (sizeof(Out) == 4) {
    stream = args.stream && reinterpret_cast<std::uintptr_t>(y) % sizeof(Vec) == 0 && args.y.row % kLanes == 0;
    for (int d = 0; d < args.nest.rank; ++d) {
      stream = stream && args.y.outer[d] % kLanes == 0;
    }
  }
  const Index x_column = args.x.column;
  const Index y_row = args.y.row;
  const Index all_columns = args.columns;
  for (Index flat = mine.begin; flat < mine.end;) {
    const Position at = position_of(args.nest, flat / row_blocks);
    const Index row = flat % row_blocks * kSide;
    // Past the caches all blocks of a group of columns come one after another: x is read along its rows, in order.
    const Index blocks = stream ? least(row_blocks - flat % row_blocks, mine.end - flat) : 1;
    const In* from = x + outer_offset(args.x, args.nest, at) + row;
    Out* to = y + outer_offset(args.y, args.nest, at) + row * y_row;
    const Index rows = least(blocks * kSide, args.rows - row);
    for (Index column = 0; column < all_columns; column += kSide) {
      const Index columns = least(kSide, all_columns - column);
      for (Index r = 0; r < rows; r += kSide) {
        const In* block_from = from + column * x_column + r;
        Out* block_to = to + r * y_row + column;
        const Index block_rows = least(kSide, rows - r);
        if (columns < kSide || block_rows < kSide) {
          transpose_block(block_from, x_column, block_to, y_row, block_rows, columns);
          continue;
        }
        if constexpr (sizeof(Out) == 4) {
          if (stream) {
            transpose_whole<true>(block_from, x_column, block_to, y_row);
            continue;
          }
        }
        transpose_whole<false>(block_from, x_column, block_to, y_row);
      }
    }
    flat += blocks;
  }
  if (stream) {
    fence_streams();
  }
}

} // namespace

void copy_rows(const RowsArgs& args, int share, int shares) {
  if (args.x.bf16) {
    args.y.bf16 ? copy_typed<Bf16, Bf16>(args, share, shares) : copy_typed<Bf16, float>(args, share, shares);
  } else {
    args.y.bf16 ? copy_typed<float, Bf16>(args, share, shares) : copy_typed<float, float>(args, share, shares);
  }
}

void copy_transposed(const RowsArgs& args, int share, int shares) {
  if (args.x.bf16) {
    args.y.bf16 ? transpose_typed<Bf16, Bf16>(args, share, shares) : transpose_typed<Bf16, float>(args, share, shares);
  } else {
    args.y.bf16 ? transpose_typed<float, Bf16>(args, share, shares)
                : transpose_typed<float, float>(args, share, shares);
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
