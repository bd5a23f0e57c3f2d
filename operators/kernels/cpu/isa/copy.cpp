#include "operators/kernels/cpu/isa/entries.hpp"
#include "operators/kernels/cpu/isa/rows.hpp"

namespace attnprof::operators::ATTNPROF_ISA {
namespace {

using cpu::RowsArgs;

/// Columns of one work item, so that a few long rows still spread over all shares.
constexpr Index kSegment = 4096;

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
    for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
      const Vec a = load(x + i);
      const Vec b = load(x + i + kLanes);
      store(y + i, a);
      store(y + i + kLanes, b);
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

template <class In, class Out>
void copy_typed(const RowsArgs& args, int share, int shares) {
  const Index segments = (args.columns + kSegment - 1) / kSegment;
  const Index per_nest = args.rows * segments;
  const Range mine = part_of(args.nest.count * per_nest, share, shares);
  if (mine.begin >= mine.end) {
    return;
  }
  Position at = position_of(args.nest, mine.begin / per_nest);
  Index row = mine.begin % per_nest / segments;
  Index segment = mine.begin % segments;
  const auto* x = reinterpret_cast<const In*>(args.x.address);
  auto* y = reinterpret_cast<Out*>(args.y.address);
  for (Index flat = mine.begin; flat < mine.end; ++flat) {
    const Index column = segment * kSegment;
    const Index x_at = outer_offset(args.x, args.nest, at) + row * args.x.row + column * args.x.column;
    const Index y_at = outer_offset(args.y, args.nest, at) + row * args.y.row + column * args.y.column;
    copy_segment(x + x_at, args.x.column, y + y_at, args.y.column, least(kSegment, args.columns - column), args.stream);
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

template <class In, class Out>
ATTNPROF_INLINE void transpose_tile(const In* x, Index x_column, Out* y, Index y_row) {
  Vec tile[kLanes];
#pragma GCC unroll 16
  for (int c = 0; c < kLanes; ++c) {
    tile[c] = load(x + c * x_column);
  }
  transpose(tile);
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) {
    store(y + r * y_row, tile[r]);
  }
}

/// A block that fills whole cache lines of both sides: x is dense along rows, y along columns.
constexpr Index kSide = 16;

template <class In, class Out>
void transpose_block(const In* x, Index x_column, Out* y, Index y_row, Index rows, Index columns) {
  Index whole_rows = rows / kLanes * kLanes;
  Index whole_columns = columns / kLanes * kLanes;
  for (Index r = 0; r < whole_rows; r += kLanes) {
    for (Index c = 0; c < whole_columns; c += kLanes) {
      transpose_tile(x + c * x_column + r, x_column, y + r * y_row + c, y_row);
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
  for (Index flat = mine.begin; flat < mine.end; ++flat) {
    const Position at = position_of(args.nest, flat / row_blocks);
    const Index row = flat % row_blocks * kSide;
    const Index x_at = outer_offset(args.x, args.nest, at) + row;
    const Index y_at = outer_offset(args.y, args.nest, at) + row * args.y.row;
    const Index rows = least(kSide, args.rows - row);
    for (Index column = 0; column < args.columns; column += kSide) {
      transpose_block(x + x_at + column * args.x.column, args.x.column, y + y_at + column, args.y.row, rows,
                      least(kSide, args.columns - column));
    }
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
