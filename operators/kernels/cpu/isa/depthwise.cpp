#include "operators/kernels/cpu/isa/entries.hpp"
#include "operators/kernels/cpu/isa/panels.hpp"

namespace attnprof::operators::ATTNPROF_ISA {
namespace {

using cpu::DepthwiseArgs;

/// Taps of one output row: the kernel rows [first, end) that lie inside the image, and where their input rows begin.
constexpr Index kMaxKernel = 64;
struct Taps {
  const float* weights; ///< [kernel_h * kernel_w][channels]
  Index channels;
  Index kernel_w;
  Index first, end;              ///< kernel rows
  const float* rows[kMaxKernel]; ///< input row of each kernel row
  Index column;                  ///< distance between input columns
};

/// X neighbouring outputs of one vector of channels at stride 1, K columns of taps: each input is loaded once.
template <int K, int X>
ATTNPROF_INLINE void dense_block(const Taps& taps, Index x, Index channel, float* y, Index lanes) {
  Vec sums[X];
#pragma GCC unroll 8
  for (int i = 0; i < X; ++i) {
    sums[i] = zero();
  }
  for (Index ky = taps.first; ky < taps.end; ++ky) {
    const float* weights = taps.weights + ky * K * taps.channels + channel;
    Vec w[K];
#pragma GCC unroll 8
    for (int kx = 0; kx < K; ++kx) {
      w[kx] = load_upto(weights + kx * taps.channels, lanes);
    }
    const float* from = taps.rows[ky] + x * taps.column + channel;
#pragma GCC unroll 16
    for (int q = 0; q < X + K - 1; ++q) {
      const Vec v = load_upto(from + q * taps.column, lanes);
#pragma GCC unroll 8
      for (int kx = 0; kx < K; ++kx) {
        if (q - kx >= 0 && q - kx < X) {
          sums[q - kx] = fma(v, w[kx], sums[q - kx]);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < X; ++i) {
    store_upto(y + i * taps.channels + channel, sums[i], lanes);
  }
}

template <int K, int X>
ATTNPROF_INLINE void dense_columns(const Taps& taps, Index x, float* y) {
  Index channel = 0;
  for (; channel + kLanes <= taps.channels; channel += kLanes) {
    dense_block<K, X>(taps, x, channel, y, kLanes);
  }
  if (channel < taps.channels) {
    dense_block<K, X>(taps, x, channel, y, taps.channels - channel);
  }
}

/// One output at any stride with taps [kx_begin, kx_end): borders and unusual kernels. x: input column of tap 0.
void single_output(const Taps& taps, Index x, Index kx_begin, Index kx_end, float* y) {
  for (Index channel = 0; channel < taps.channels; channel += kLanes) {
    const Index lanes = taps.channels - channel;
    Vec sum = zero();
    for (Index ky = taps.first; ky < taps.end; ++ky) {
      const float* weights = taps.weights + ky * taps.kernel_w * taps.channels + channel;
      const float* from = taps.rows[ky] + x * taps.column + channel;
      for (Index kx = kx_begin; kx < kx_end; ++kx) {
        sum = fma(load_upto(from + kx * taps.column, lanes), load_upto(weights + kx * taps.channels, lanes), sum);
      }
    }
    store_upto(y + channel, sum, lanes);
  }
}

class ShareOfRows {
 public:
  ShareOfRows(const DepthwiseArgs& args, int share) : args_(args) {
    auto* scratch = reinterpret_cast<float*>(args.scratch + share * args.scratch_stride);
    const Index tap_count = args.kernel_h * args.kernel_w * args.channels;
    taps_.channels = args.channels;
    taps_.kernel_w = args.kernel_w;
    if (args.taps_bf16) {
      gather(reinterpret_cast<const Bf16*>(args.taps), 1, tap_count, scratch);
      taps_.weights = scratch;
      scratch += rounded_up(tap_count, 16);
    } else {
      taps_.weights = reinterpret_cast<const float*>(args.taps);
    }
    direct_x_ = !args.x_bf16 && args.x_stride[3] == 1;
    direct_y_ = !args.y_bf16 && args.y_stride[3] == 1 && args.y_stride[2] == args.channels;
    if (!direct_y_) {
      y_row_ = scratch;
      scratch += rounded_up(args.out_width * args.channels, 16);
    }
    ring_ = scratch;
    for (Index& row : held_) {
      row = -1;
    }
    taps_.column = direct_x_ ? args.x_stride[2] : args.channels;
  }

  void run(Index batch, Index out_row) {
    find_rows(batch, out_row);
    const Index y_at = batch * args_.y_stride[0] + out_row * args_.y_stride[1];
    float* y = direct_y_ ? reinterpret_cast<float*>(args_.y) + y_at : y_row_;
    // Outputs [inner, inner_end) have all their taps inside the image.
    const Index inner = least(args_.out_width, (args_.pad + args_.stride - 1) / args_.stride);
    const Index reach = args_.width + args_.pad - args_.kernel_w;
    const Index inner_end = most(inner, least(args_.out_width, reach < 0 ? 0 : reach / args_.stride + 1));
    border(0, inner, y);
    Index x = inner;
    if (args_.stride == 1) {
      switch (args_.kernel_w) {
      case 3: x = dense<3>(inner, inner_end, y); break;
      case 5: x = dense<5>(inner, inner_end, y); break;
      case 7: x = dense<7>(inner, inner_end, y); break;
      default: break;
      }
    }
    border(x, args_.out_width, y);
    finish(batch, out_row, y, y_at);
  }

 private:
  static constexpr int kOutputs = 6;

  template <int K>
  Index dense(Index x, Index end, float* y) const {
    for (; x + kOutputs <= end; x += kOutputs) {
      dense_columns<K, kOutputs>(taps_, x - args_.pad, y + x * args_.channels);
    }
    for (; x + 2 <= end; x += 2) {
      dense_columns<K, 2>(taps_, x - args_.pad, y + x * args_.channels);
    }
    for (; x < end; ++x) {
      dense_columns<K, 1>(taps_, x - args_.pad, y + x * args_.channels);
    }
    return x;
  }

  void border(Index begin, Index end, float* y) const {
    for (Index x = begin; x < end; ++x) {
      const Index from = x * args_.stride - args_.pad;
      const Index kx_begin = most(0, -from);
      const Index kx_end = most(kx_begin, least(args_.kernel_w, args_.width - from));
      single_output(taps_, from, kx_begin, kx_end, y + x * args_.channels);
    }
  }

  void find_rows(Index batch, Index out_row) {
    const Index from = out_row * args_.stride - args_.pad;
    taps_.first = most(0, -from);
    taps_.end = most(taps_.first, least(args_.kernel_h, args_.height - from));
    for (Index ky = taps_.first; ky < taps_.end; ++ky) {
      taps_.rows[ky] = input_row(batch, from + ky);
    }
  }

  /// Rows that are not plain f32 are converted once and kept while the kernel passes over them.
  const float* input_row(Index batch, Index row) {
    const Index at = batch * args_.x_stride[0] + row * args_.x_stride[1];
    if (direct_x_) {
      return reinterpret_cast<const float*>(args_.x) + at;
    }
    const Index slot = row % args_.kernel_h;
    float* to = ring_ + slot * args_.width * args_.channels;
    const Index wanted = batch * args_.height + row;
    if (held_[slot] != wanted) {
      Operand image;
      image.bf16 = args_.x_bf16;
      image.row = args_.x_stride[2];
      image.column = args_.x_stride[3];
      copy_rows_to(image, args_.x + at * (args_.x_bf16 ? 2 : 4), args_.width, args_.channels, to, args_.channels);
      held_[slot] = wanted;
    }
    return to;
  }

  void finish(Index batch, Index out_row, float* y, Index y_at) const {
    Nest nest;
    nest.rank = 2;
    nest.dims[0] = args_.batch;
    nest.dims[1] = args_.out_height;
    Position at;
    at.index[0] = batch;
    at.index[1] = out_row;
    Operand target;
    target.data = args_.y;
    target.bf16 = args_.y_bf16;
    target.column = args_.y_stride[3];
    for (Index x = 0; x < args_.out_width && (args_.steps.count > 0 || !direct_y_); ++x) {
      float* pixel = y + x * args_.channels;
      apply_steps(args_.steps, nest, at, x, 0, args_.channels, pixel, pixel);
      if (!direct_y_) {
        std::byte* to = element_to_write(target, y_at + x * args_.y_stride[2]);
        if (is_plain(target)) {
          gather(pixel, 1, args_.channels, reinterpret_cast<float*>(to));
        } else {
          write_row(target, pixel, args_.channels, to);
        }
      }
    }
  }

  const DepthwiseArgs& args_;
  Taps taps_{};
  bool direct_x_ = false;
  bool direct_y_ = false;
  float* y_row_ = nullptr;
  float* ring_ = nullptr;
  Index held_[kMaxKernel] = {};
};

} // namespace

void depthwise(const DepthwiseArgs& args, int share, int shares) {
  const Range mine = part_of(args.batch * args.out_height, share, shares);
  ShareOfRows rows(args, share);
  for (Index flat = mine.begin; flat < mine.end; ++flat) {
    rows.run(flat / args.out_height, flat % args.out_height);
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
