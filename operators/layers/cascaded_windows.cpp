#include "operators/layers/cascaded_windows.hpp"

#include "operators/layers/conv_norm.hpp"

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

/// Bias of each head by the absolute offsets of two tokens of a window, [heads, tokens, tokens], from a table of one
/// entry for each pair of offsets.
View offset_bias(GraphBuilder& builder, std::int64_t side, std::int64_t heads) {
  const std::int64_t tokens = side * side;
  const Count pairs = Count(tokens) * tokens;
  const auto make = [&] {
    GraphBuilder::Values index = constant_values(pairs, kMaxIndexedRows);
    for (std::int64_t a = 0; index && a < tokens; ++a) {
      for (std::int64_t b = 0; b < tokens; ++b) {
        index->push_back(static_cast<float>(std::abs(a / side - b / side) * side + std::abs(a % side - b % side)));
      }
    }
    return index;
  };
  const View table = builder.weight("bias_table", {tokens, heads});
  const View index = builder.constant(fmt::format("offsets_{}", side), {pairs.value()}, make);
  const View rows = builder.gather("bias_rows", table, index);
  return rows.split(0, tokens, tokens).transpose(1, 2).transpose(0, 1);
}

/// What the heads share.
struct Shared {
  View bias;
  std::int64_t pairs; ///< of real tokens, a head
};

/// One head on its input [windows, tokens, slice]; the queries pass a depthwise convolution inside the window.
View head_output(GraphBuilder& builder, const CascadedWindows& c, std::int64_t head, const View& input,
                 const Shared& shared) {
  const std::int64_t count = input.dims[0];
  const std::int64_t slice = input.dims.back();
  const std::int64_t side = c.windows.side;
  const View qkv = conv_norm(builder, "qkv_proj", input.as_matrix(), 2 * c.qk_dim + slice, {1, 1, false, c.folded})
                       .split(0, count, c.windows.tokens());
  const View q_map = qkv.slice(2, 0, c.qk_dim).split(1, side, side);
  const std::int64_t kernel = c.query_kernels.at(static_cast<std::size_t>(head));
  const View q =
      conv_norm(builder, "q_dwconv", q_map, c.qk_dim, {kernel, 1, true, c.folded, real_window_taps(c.windows, kernel)})
          .merge(1);
  const View k = qkv.slice(2, c.qk_dim, c.qk_dim);
  const View v = qkv.slice(2, 2 * c.qk_dim, slice);
  const double scale = 1.0 / std::sqrt(static_cast<double>(c.qk_dim));
  return build_attention_core(builder, q, k, v,
                              {scale, 0.0, shared.bias.select(0, head).broadcast(0, count), {}, shared.pairs});
}

} // namespace

View build_cascaded_windows(GraphBuilder& builder, const CascadedWindows& cascade, const View& x) {
  const std::int64_t slice = x.dims.back() / cascade.heads;
  const GraphBuilder::RealRows rows = real_window_rows(builder, cascade.windows);
  const View tokens = partition(builder, cascade.windows, x);
  const Shared shared{offset_bias(builder, cascade.windows.side, cascade.heads), real_window_pairs(cascade.windows)};
  const View mixed = builder.temporary(tokens.dims);
  View previous;
  for (std::int64_t head = 0; head < cascade.heads; ++head) {
    const Part one(builder, fmt::format("head{}", head));
    View input = tokens.slice(2, head * slice, slice);
    input = head > 0 ? builder.add("cascade_add", input, previous) : builder.layout_copy("slice_copy", input);
    previous = head_output(builder, cascade, head, input, shared);
    builder.layout_copy_into("concat", previous, mixed.slice(2, head * slice, slice));
  }
  View y = builder.activation("act", mixed, StepFn::kRelu).as_matrix();
  y = conv_norm(builder, "out_proj", y, x.dims.back(), {1, 1, false, cascade.folded});
  return unpartition(builder, cascade.windows, y.split(0, tokens.dims[0], cascade.windows.tokens()));
}

} // namespace attnprof::operators
