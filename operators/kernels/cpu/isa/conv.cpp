#include "operators/kernels/cpu/isa/entries.hpp"
#include "operators/kernels/cpu/isa/vectors.hpp"

// Dense and grouped convolution, channels last: the taps of a few output positions are laid side by side (their padding
// as zeros), then multiplied with the weights of each output channel, which lie in the same order.
namespace attnprof::operators::ATTNPROF_ISA {
using cpu::ConvArgs;

namespace {

/// Output positions handled together: each weight that is read serves all of them.
inline constexpr int kPositions = 4;

/// The taps of one output position for one group of channels: [kernel_h * kernel_w][channels of the group].
void lay_taps(const ConvArgs& args, Index batch, Index row, Index column, Index group, float* out) {
  const Index channels = args.group_channels;
  for (Index tap = 0; tap < args.kernel_h * args.kernel_w; ++tap, out += channels) {
    const Index i = row * args.stride + tap / args.kernel_w - args.pad;
    const Index j = column * args.stride + tap % args.kernel_w - args.pad;
    if (i < 0 || i >= args.height || j < 0 || j >= args.width) {
      for (Index c = 0; c < channels; ++c) {
        out[c] = 0.0F;
      }
      continue;
    }
    const Index from = batch * args.x_stride[0] + i * args.x_stride[1] + j * args.x_stride[2];
    read_into(args.x, element(args.x, from + group * channels * args.x_stride[3]), channels, out);
  }
}

template <class T>
void positions(const ConvArgs& args, Index first, Index count, float* taps, float* out) {
  const Index k = args.kernel_h * args.kernel_w * args.group_channels;
  const Index outputs = args.out_channels / args.groups;
  const auto* weights = reinterpret_cast<const T*>(args.w.address);
  for (Index group = 0; group < args.groups; ++group) {
    for (Index p = 0; p < count; ++p) {
      const Index flat = first + p;
      lay_taps(args, flat / args.out_width / args.out_height, flat / args.out_width % args.out_height,
               flat % args.out_width, group, taps + p * k);
    }
    const T* w = weights + group * outputs * k;
    float* to = out + group * outputs;
    if (count == kPositions) {
      dots_of_rows<kPositions>(k, taps, k, w, k, outputs, to, args.out_channels);
    } else {
      for (Index p = 0; p < count; ++p) {
        dots_of_rows<1>(k, taps + p * k, k, w, k, outputs, to + p * args.out_channels, args.out_channels);
      }
    }
  }
}

} // namespace

void conv(const ConvArgs& args, int share, int shares) {
  auto* taps = reinterpret_cast<float*>(args.scratch + share * args.scratch_stride);
  auto* out = reinterpret_cast<float*>(args.scratch + share * args.scratch_stride + args.out_at);
  const Range part = part_of(args.batch * args.out_height * args.out_width, share, shares);
  Nest nest; // the steps' outer dimensions: batch, output row
  nest.rank = 2;
  nest.dims[0] = args.batch;
  nest.dims[1] = args.out_height;
  for (Index first = part.begin; first < part.end; first += kPositions) {
    const Index count = least(kPositions, part.end - first);
    if (args.w.bf16) {
      positions<Bf16>(args, first, count, taps, out);
    } else {
      positions<float>(args, first, count, taps, out);
    }
    for (Index p = 0; p < count; ++p) {
      const Index column = (first + p) % args.out_width;
      Position at;
      at.index[0] = (first + p) / args.out_width / args.out_height;
      at.index[1] = (first + p) / args.out_width % args.out_height;
      float* row = out + p * args.out_channels;
      apply_steps(args.steps, nest, at, column, 0, args.out_channels, row, row);
      std::byte* to = element_to_write(args.y, at.index[0] * args.y_stride[0] + at.index[1] * args.y_stride[1] +
                                                   column * args.y_stride[2]);
      if (is_plain(args.y)) {
        gather(row, 1, args.out_channels, reinterpret_cast<float*>(to));
      } else {
        write_row(args.y, row, args.out_channels, to);
      }
    }
  }
}

} // namespace attnprof::operators::ATTNPROF_ISA
