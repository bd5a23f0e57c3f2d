#include "operators/kernels/cpu/isa/entries.hpp"
#include "operators/kernels/cpu/isa/rows.hpp"

// Kernels that move or sum whole rows of channels: gathers, sums over tokens, prefix sums, pooling and the short
// convolution along channels. All are bound by memory; the arithmetic only has to keep up with it.
namespace attnprof::operators::ATTNPROF_ISA {
using cpu::ConvArgs;
using cpu::RowsArgs;

namespace {

/// Columns handled at a time, so that the sums stay in the first-level cache.
ATTNPROF_INLINE Index blocks_of(Index columns) {
  return (columns + kBlock - 1) / kBlock;
}

/// sums[0, n) += the row of x that starts at `from`.
ATTNPROF_INLINE void add_row(const Operand& x, const std::byte* from, Index n, float* sums, float* scratch) {
  const float* row = read_row(x, from, n, scratch);
  map_rows(row, sums, sums, n, [](auto a, auto b) ATTNPROF_INLINE_LAMBDA { return a + b; });
}

ATTNPROF_INLINE void clear(float* sums, Index n) {
  for (Index i = 0; i < n; ++i) {
    sums[i] = 0.0F;
  }
}

ATTNPROF_INLINE void write_block(const Operand& y, Index offset, const float* row, Index n) {
  std::byte* to = element_to_write(y, offset);
  if (is_plain(y)) {
    gather(row, 1, n, reinterpret_cast<float*>(to));
  } else {
    write_row(y, row, n, to);
  }
}

/// Where the nest position and the block of columns of flat part `part` begin.
struct Block {
  Position at;
  Index column, length;
};
ATTNPROF_INLINE Block block_of(const Nest& nest, Index columns, Index part) {
  const Index blocks = blocks_of(columns);
  const Index column = part % blocks * kBlock;
  return {position_of(nest, part / blocks), column, least(kBlock, columns - column)};
}

} // namespace

void gather_rows(const RowsArgs& args, int share, int shares) {
  alignas(64) float buffer[kBlock];
  const auto* indices = reinterpret_cast<const float*>(args.table.address);
  const Range part = part_of(args.nest.count * args.rows, share, shares);
  for (Index flat = part.begin; flat < part.end; ++flat) {
    const Index row = flat % args.rows;
    const Position at = position_of(args.nest, flat / args.rows);
    const float index = indices[row * args.table.row];
    const Index to = outer_offset(args.y, args.nest, at) + row * args.y.row;
    const Index from = outer_offset(args.x, args.nest, at) + static_cast<Index>(index) * args.x.row;
    for (Index column = 0; column < args.columns; column += kBlock) {
      const Index n = least(kBlock, args.columns - column);
      if (index < 0.0F) {
        clear(buffer, n);
      } else {
        read_into(args.x, element(args.x, from + column * args.x.column), n, buffer);
      }
      write_block(args.y, to + column * args.y.column, buffer, n);
    }
  }
}

/// y[c] = factor * sum over rows of x[row][c], or the maximum.
void reduce_rows(const RowsArgs& args, int share, int shares) {
  alignas(64) float sums[kBlock];
  alignas(64) float buffer[kBlock];
  const Range part = part_of(args.nest.count * blocks_of(args.columns), share, shares);
  for (Index flat = part.begin; flat < part.end; ++flat) {
    const Block block = block_of(args.nest, args.columns, flat);
    const Index from = outer_offset(args.x, args.nest, block.at) + block.column * args.x.column;
    clear(sums, block.length);
    if (args.take_max) {
      read_into(args.x, element(args.x, from), block.length, sums);
    }
    for (Index row = args.take_max ? 1 : 0; row < args.rows; ++row) {
      const std::byte* source = element(args.x, from + row * args.x.row);
      if (args.take_max) {
        const float* x = read_row(args.x, source, block.length, buffer);
        map_rows(x, sums, sums, block.length, [](auto a, auto b) ATTNPROF_INLINE_LAMBDA { return max(a, b); });
      } else {
        add_row(args.x, source, block.length, sums, buffer);
      }
    }
    map_row(sums, sums, block.length, [&](auto v) ATTNPROF_INLINE_LAMBDA { return v * args.factor; });
    write_block(args.y, outer_offset(args.y, args.nest, block.at) + block.column * args.y.column, sums, block.length);
  }
}

void cumsum_rows(const RowsArgs& args, int share, int shares) {
  alignas(64) float sums[kBlock];
  alignas(64) float buffer[kBlock];
  const Range part = part_of(args.nest.count * blocks_of(args.columns), share, shares);
  for (Index flat = part.begin; flat < part.end; ++flat) {
    const Block block = block_of(args.nest, args.columns, flat);
    const Index from = outer_offset(args.x, args.nest, block.at) + block.column * args.x.column;
    const Index to = outer_offset(args.y, args.nest, block.at) + block.column * args.y.column;
    clear(sums, block.length);
    for (Index row = 0; row < args.rows; ++row) {
      write_block(args.y, to + row * args.y.row, sums, block.length);
      if (row + 1 < args.rows) {
        add_row(args.x, element(args.x, from + row * args.x.row), block.length, sums, buffer);
      }
    }
  }
}

/// Taps are few and rows short: one channel after another.
void channel_conv1d(const RowsArgs& args, int share, int shares) {
  const Range part = part_of(args.rows, share, shares);
  const auto read = [](const Operand& operand, Index offset) {
    const std::byte* at = element(operand, offset);
    return operand.bf16 ? load_one(reinterpret_cast<const Bf16*>(at)) : load_one(reinterpret_cast<const float*>(at));
  };
  for (Index row = part.begin; row < part.end; ++row) {
    for (Index c = 0; c < args.columns; ++c) {
      float sum = 0.0F;
      for (Index u = 0; u < args.taps; ++u) {
        const Index from = c + u - args.taps / 2;
        if (from >= 0 && from < args.columns) {
          sum += read(args.x, row * args.x.row + from * args.x.column) * read(args.gamma, u * args.gamma.column);
        }
      }
      write_block(args.y, row * args.y.row + c * args.y.column, &sum, 1);
    }
  }
}

/// Mean over the taps inside the map, one output position after another; channels are rows of the operands.
void pool(const ConvArgs& args, int share, int shares) {
  alignas(64) float sums[kBlock];
  alignas(64) float buffer[kBlock];
  const Index blocks = blocks_of(args.out_channels);
  const Range part = part_of(args.batch * args.out_height * args.out_width * blocks, share, shares);
  for (Index flat = part.begin; flat < part.end; ++flat) {
    const Index channel = flat % blocks * kBlock;
    const Index n = least(kBlock, args.out_channels - channel);
    const Index column = flat / blocks % args.out_width;
    const Index row = flat / blocks / args.out_width % args.out_height;
    const Index batch = flat / blocks / args.out_width / args.out_height;
    clear(sums, n);
    Index taps = 0;
    for (Index tap = 0; tap < args.kernel_h * args.kernel_w; ++tap) {
      const Index i = row * args.stride + tap / args.kernel_w - args.pad;
      const Index j = column * args.stride + tap % args.kernel_w - args.pad;
      if (i >= 0 && i < args.height && j >= 0 && j < args.width) {
        const Index from = batch * args.x_stride[0] + i * args.x_stride[1] + j * args.x_stride[2];
        add_row(args.x, element(args.x, from + channel * args.x_stride[3]), n, sums, buffer);
        ++taps;
      }
    }
    const float factor = 1.0F / static_cast<float>(taps);
    map_row(sums, sums, n, [&](auto v) ATTNPROF_INLINE_LAMBDA { return v * factor; });
    const Index to = batch * args.y_stride[0] + row * args.y_stride[1] + column * args.y_stride[2];
    write_block(args.y, to + channel * args.y_stride[3], sums, n);
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
