#include "operators/kernels/cpu/isa/entries.hpp"
#include "operators/kernels/cpu/isa/panels.hpp"

namespace attnprof::operators::ATTNPROF_ISA {
namespace {

using cpu::DepthwiseArgs;

/// Taps of one output row: the kernel rows [first, end) that lie inside the image, and where their input rows begin.
/// Input rows are copies with `pad` zero columns on both sides, dense in channels, so that no output is a special case.
constexpr Index kMaxKernel = 64;
struct Taps {
  const float* weights; ///< [kernel_h * kernel_w][channels]
  const float* bias;    ///< [channels], where sums start
  Index channels;
  Index kernel_w;
  Index first, end;              ///< kernel rows
  const float* rows[kMaxKernel]; ///< input row of each kernel row
  const float* ahead;            ///< an input row to fetch while this one is computed, or null
};

/// X neighbouring outputs of one vector of channels at stride 1, K columns of taps: each input is loaded once.
template <int K, int X>
ATTNPROF_INLINE void dense_block(const Taps& taps, Index channels, Index first, Index end, Index at, Index channel,
                                 float* y, Index lanes) {
  Vec sums[X];
  const Vec bias = load_upto(taps.bias + channel, lanes);
#pragma GCC unroll 8
  for (int i = 0; i < X; ++i) {
    sums[i] = bias;
  }
  const float* weights = taps.weights + first * K * channels + channel;
  for (Index ky = first; ky < end; ++ky) {
    Vec w[K];
#pragma GCC unroll 8
    for (int kx = 0; kx < K; ++kx) {
      w[kx] = load_upto(weights + kx * channels, lanes);
    }
    weights += K * channels;
    const float* from = taps.rows[ky] + at;
#pragma GCC unroll 16
    for (int q = 0; q < X + K - 1; ++q) {
      const Vec v = load_upto(from, lanes);
      from += channels;
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
    store_upto(y, sums[i], lanes);
    y += channels;
  }
}

/// X outputs whose first tap is on input column x.
template <int K, int X>
[[gnu::noinline]] void dense_columns(const Taps& taps, Index x, float* y) {
  const Index channels = taps.channels;
  const Index first = taps.first;
  const Index end = taps.end;
  const Index at = x * channels;
  Index channel = 0;
  for (; channel + kLanes <= channels; channel += kLanes) {
    dense_block<K, X>(taps, channels, first, end, at + channel, channel, y + channel, kLanes);
  }
  if (channel < channels) {
    dense_block<K, X>(taps, channels, first, end, at + channel, channel, y + channel, channels - channel);
  }
}

/// X neighbouring outputs of one vector of channels, read from the image where it lies: the first L and the last R
/// columns that the taps would touch are padding and are left out. `rows` begin at the column of the first tap.
template <int K, int X, int L, int R>
ATTNPROF_INLINE void image_block(const Taps& taps, Index at, Index channel, float* y) {
  const Index channels = taps.channels;
  Vec sums[X];
  const Vec bias = load(taps.bias + channel);
#pragma GCC unroll 8
  for (int i = 0; i < X; ++i) {
    sums[i] = bias;
  }
  const float* weights = taps.weights + taps.first * K * channels + channel;
  for (Index ky = taps.first; ky < taps.end; ++ky) {
    Vec w[K];
#pragma GCC unroll 8
    for (int kx = 0; kx < K; ++kx) {
      w[kx] = load(weights + kx * channels);
    }
    weights += K * channels;
    const float* from = taps.rows[ky] + at + L * channels;
#pragma GCC unroll 16
    for (int q = L; q < X + K - 1 - R; ++q) {
      const Vec v = load(from);
      from += channels;
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
    store(y, sums[i]);
    y += channels;
  }
}

/// X outputs of some channels, from column x on.
template <int K, int X, int L, int R>
[[gnu::noinline]] void image_columns(const Taps& taps, Range part, Index x, float* y) {
  const Index at = (x - K / 2) * taps.channels;
  const float* ahead = taps.ahead == nullptr ? nullptr : taps.ahead + x * taps.channels;
  for (Index channel = part.begin; channel < part.end; channel += kLanes) {
    if (ahead != nullptr) {
      fetch<X * kLanes>(ahead);
      ahead += X * kLanes;
    }
    image_block<K, X, L, R>(taps, at + channel, channel, y + channel);
  }
}

/// One output at any stride and kernel width.
void single_output(const Taps& taps, Index x, float* y) {
  const Index channels = taps.channels;
  for (Index channel = 0; channel < channels; channel += kLanes) {
    const Index lanes = channels - channel;
    Vec sum = load_upto(taps.bias + channel, lanes);
    for (Index ky = taps.first; ky < taps.end; ++ky) {
      const float* weights = taps.weights + ky * taps.kernel_w * channels + channel;
      const float* from = taps.rows[ky] + x * channels + channel;
      for (Index kx = 0; kx < taps.kernel_w; ++kx) {
        sum = fma(load_upto(from + kx * channels, lanes), load_upto(weights + kx * channels, lanes), sum);
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
    taps_.bias = scratch;
    take_bias(scratch);
    scratch += rounded_up(args.channels, 16);
    direct_y_ = !args.y_bf16 && args.y_stride[3] == 1 && args.y_stride[2] == args.channels;
    if (!direct_y_ || args.stream) {
      y_row_ = scratch;
      scratch += rounded_up(args.out_width * args.channels, 16);
    }
    // Rows of whole blocks and whole vectors with the usual padding need no copies where they lie in a cache.
    in_place_ = args.in_place && !args.x_bf16 && args.x_stride[3] == 1 && args.x_stride[2] == args.channels &&
                args.stride == 1 && args.pad == args.kernel_w / 2 && args.out_width == args.width &&
                args.width % kOutputs == 0 && args.channels % kLanes == 0 &&
                (args.kernel_w == 3 || args.kernel_w == 5 || args.kernel_w == 7);
    if (!in_place_) {
      prepare_ring(scratch);
    }
  }

  /// Output rows [first, end) of one image.
  void run_image(Index batch, Index first, Index end) {
    const Index step = channels_at_once();
    for (part_.begin = 0; part_.begin < args_.channels; part_.begin = part_.end) {
      part_.end = least(part_.begin + step, args_.channels);
      for (Index row = first; row < end; ++row) {
        run(batch, row);
      }
    }
  }

 private:
  /// Seven sums and up to seven taps fit the registers; images of 14, 28, 56 columns divide by it.
  static constexpr int kOutputs = 7;
  static constexpr Index kRowsAhead = 3;

  /// Input rows serve kernel_h output rows and should meet them in the first-level cache. Where all channels of them do
  /// not fit, two lines of each pixel are taken at a time (14x14x192, 5x5: 1.5 multiply-adds a cycle for 1.35), unless
  /// those do not either: pixels that lie a power of two apart share half of the cache's places.
  [[nodiscard]] Index channels_at_once() const {
    constexpr Index kCache = 32 * 1024;
    constexpr Index kAtOnce = 2 * kLineFloats;
    if (!in_place_ || args_.stream || !direct_y_ || steps_.count > 0) {
      return args_.channels;
    }
    const Index pixels = args_.kernel_h * (args_.width + args_.kernel_w) + 2 * args_.width; // with taps and output
    const auto bytes = [&](Index channels) { return pixels * channels * static_cast<Index>(sizeof(float)); };
    return bytes(args_.channels) > kCache && bytes(kAtOnce) <= kCache / 2 ? kAtOnce : args_.channels;
  }

  void run(Index batch, Index out_row) {
    find_rows(batch, out_row);
    const Index y_at = batch * args_.y_stride[0] + out_row * args_.y_stride[1];
    float* y = y_row_ == nullptr ? reinterpret_cast<float*>(args_.y) + y_at : y_row_;
    if (in_place_) {
      switch (args_.kernel_w) {
      case 3: image<3>(y); break;
      case 5: image<5>(y); break;
      default: image<7>(y); break;
      }
    } else if (args_.stride != 1) {
      single_outputs(y);
    } else {
      switch (args_.kernel_w) {
      case 3: dense<3>(y); break;
      case 5: dense<5>(y); break;
      case 7: dense<7>(y); break;
      default: single_outputs(y); break;
      }
    }
    finish(batch, out_row, y, y_at);
  }

  /// Blocks at the edges of the image leave out the taps that would lie beyond them.
  template <int K>
  void image(float* y) const {
    constexpr int kPad = K / 2;
    const Index last = args_.width - kOutputs;
    if (last == 0) {
      image_columns<K, kOutputs, kPad, kPad>(taps_, part_, 0, y);
      return;
    }
    image_columns<K, kOutputs, kPad, 0>(taps_, part_, 0, y);
    for (Index x = kOutputs; x < last; x += kOutputs) {
      image_columns<K, kOutputs, 0, 0>(taps_, part_, x, y + x * args_.channels);
    }
    image_columns<K, kOutputs, 0, kPad>(taps_, part_, last, y + last * args_.channels);
  }

  template <int K>
  void dense(float* y) const {
    Index x = 0;
    for (; x + kOutputs <= args_.out_width; x += kOutputs) {
      dense_columns<K, kOutputs>(taps_, x, y + x * args_.channels);
    }
    for (; x + 3 <= args_.out_width; x += 3) {
      dense_columns<K, 3>(taps_, x, y + x * args_.channels);
    }
    for (; x < args_.out_width; ++x) {
      dense_columns<K, 1>(taps_, x, y + x * args_.channels);
    }
  }

  void single_outputs(float* y) const {
    for (Index x = 0; x < args_.out_width; ++x) {
      single_output(taps_, x * args_.stride, y + x * args_.channels);
    }
  }

  /// A first step that adds one value per channel costs nothing where sums start from it.
  void take_bias(float* bias) {
    steps_ = args_.steps;
    for (Index i = 0; i < args_.channels; ++i) {
      bias[i] = 0.0F;
    }
    if (steps_.count == 0 || steps_.steps->fn != StepFn::kAdd) {
      return;
    }
    const Operand& operand = steps_.steps->operand;
    if (operand.row == 0 && operand.outer[0] == 0 && operand.outer[1] == 0) {
      read_into(operand, operand.address, args_.channels, bias);
      ++steps_.steps;
      --steps_.count;
    }
  }

  /// The last kernel_h input rows are kept; their padding is written once.
  void prepare_ring(float* ring) {
    ring_ = ring;
    row_size_ = (args_.width + 2 * args_.pad) * args_.channels;
    const Index edge = args_.pad * args_.channels;
    for (Index slot = 0; slot < args_.kernel_h; ++slot) {
      held_[slot] = -1;
      float* row = ring_ + slot * row_size_;
      for (Index i = 0; i < edge; ++i) {
        row[i] = 0.0F;
        row[row_size_ - 1 - i] = 0.0F;
      }
    }
  }

  void find_rows(Index batch, Index out_row) {
    taps_.ahead = args_.stream ? image_row(batch, out_row + kRowsAhead) : nullptr;
    const Index from = out_row * args_.stride - args_.pad;
    taps_.first = most(0, -from);
    taps_.end = most(taps_.first, least(args_.kernel_h, args_.height - from));
    for (Index ky = taps_.first; ky < taps_.end; ++ky) {
      taps_.rows[ky] = in_place_ ? image_row(batch, from + ky) : input_row(batch, from + ky);
    }
  }

  const float* image_row(Index batch, Index row) const {
    return reinterpret_cast<const float*>(args_.x) + batch * args_.x_stride[0] + row * args_.x_stride[1];
  }

  const float* input_row(Index batch, Index row) {
    const Index slot = row % args_.kernel_h;
    float* to = ring_ + slot * row_size_;
    const Index wanted = batch * args_.height + row;
    if (held_[slot] != wanted) {
      const Index at = batch * args_.x_stride[0] + row * args_.x_stride[1];
      Operand image;
      image.bf16 = args_.x_bf16;
      image.row = args_.x_stride[2];
      image.column = args_.x_stride[3];
      copy_rows_to(image, args_.x + at * (args_.x_bf16 ? 2 : 4), args_.width, args_.channels,
                   to + args_.pad * args_.channels, args_.channels);
      held_[slot] = wanted;
    }
    return to;
  }

  void finish(Index batch, Index out_row, float* y, Index y_at) const {
    if (steps_.count > 0 || !direct_y_) {
      finish_pixels(batch, out_row, y, y_at);
    }
    if (direct_y_ && y == y_row_) {
      map_row_stream(y, reinterpret_cast<float*>(args_.y) + y_at, args_.out_width * args_.channels,
                     [](auto v) ATTNPROF_INLINE_LAMBDA { return v; });
    }
  }

  void finish_pixels(Index batch, Index out_row, float* y, Index y_at) const {
    Nest nest;
    nest.rank = 2;
    nest.dims[0] = args_.batch;
    nest.dims[1] = args_.out_height;
    Position at;
    at.index[0] = batch;
    at.index[1] = out_row;
    Operand target;
    target.address = args_.y;
    target.bf16 = args_.y_bf16;
    target.column = args_.y_stride[3];
    for (Index x = 0; x < args_.out_width; ++x) {
      float* pixel = y + x * args_.channels;
      apply_steps(steps_, nest, at, x, 0, args_.channels, pixel, pixel);
      if (direct_y_) {
        continue;
      }
      std::byte* to = element_to_write(target, y_at + x * args_.y_stride[2]);
      if (is_plain(target)) {
        gather(pixel, 1, args_.channels, reinterpret_cast<float*>(to));
      } else {
        write_row(target, pixel, args_.channels, to);
      }
    }
  }

  const DepthwiseArgs& args_;
  Taps taps_{};
  Range part_{}; ///< channels of this pass over an image that is read in place
  StepList steps_;
  bool direct_y_ = false;
  bool in_place_ = false;
  float* y_row_ = nullptr;
  float* ring_ = nullptr;
  Index row_size_ = 0;
  Index held_[kMaxKernel] = {};
};

} // namespace

void depthwise(const DepthwiseArgs& args, int share, int shares) {
  const Range mine = part_of(args.batch * args.out_height, share, shares);
  ShareOfRows rows(args, share);
  for (Index flat = mine.begin; flat < mine.end;) {
    const Index batch = flat / args.out_height;
    const Index image = batch * args.out_height;
    const Index end = least(mine.end, image + args.out_height);
    rows.run_image(batch, flat - image, end - image);
    flat = end;
  }
  if (args.stream) {
    fence_streams();
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
