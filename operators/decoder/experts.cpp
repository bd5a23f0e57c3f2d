#include "operators/decoder/blocks.hpp"
#include "operators/layers/network.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::operators {

View decoder_ffn(GraphBuilder& builder, const Decoder& model, std::int64_t width, const View& x) {
  const std::int64_t dim = x.dims.back();
  if (!model.gated_ffn) {
    const View y = builder.activation("act", dense(builder, "fc1", x, width, model.ffn_bias), model.activation);
    return dense(builder, "fc2", y, dim, model.ffn_bias);
  }
  const View gate =
      builder.activation("gate_act", dense(builder, "gate_proj", x, width, model.ffn_bias), model.activation);
  const View y = builder.mul("gate", gate, dense(builder, "up_proj", x, width, model.ffn_bias));
  return dense(builder, "down_proj", y, dim, model.ffn_bias);
}

namespace {

/// Slot s = token * per_token + k goes to expert s mod count: the first experts are in use, each with the same number
/// of rows, the last rows of some being padding.
struct Routing {
  std::int64_t tokens, slots, used, rows; ///< rows of one expert

  [[nodiscard]] std::int64_t all_rows() const { return used * rows; }
  [[nodiscard]] std::int64_t row_of(std::int64_t slot) const { return slot % used * rows + slot / used; }
  /// -1: padding.
  [[nodiscard]] std::int64_t slot_of(std::int64_t row) const {
    const std::int64_t slot = row % rows * used + row / rows;
    return slot < slots ? slot : -1;
  }
};

Routing even_routing(const Experts& experts, std::int64_t tokens) {
  Routing out{};
  out.tokens = tokens;
  out.slots = tokens * experts.per_token;
  out.used = std::min(experts.count, out.slots);
  out.rows = ceil_div(out.slots, out.used);
  return out;
}

/// Rows of x by a list of so many; `row_of` gives the row of x for each.
template <class RowOf>
View rows_by(GraphBuilder& builder, const std::string& name, const View& x, const Experts& experts, std::int64_t count,
             RowOf row_of) {
  const std::string key = fmt::format("{}_{}_of_{}_{}", name, experts.per_token, experts.count, count);
  const auto values = [&] {
    GraphBuilder::Values out = constant_values(std::max(count, x.dims[0]), kMaxIndexedRows);
    for (std::int64_t i = 0; out && i < count; ++i) {
      out->push_back(static_cast<float>(row_of(i)));
    }
    return out;
  };
  return builder.gather(name, x, builder.row_numbers(key, count, values));
}

/// Weights of the experts in use, [used, in, out], of a table of all.
View expert_weights(GraphBuilder& builder, const std::string& name, const Experts& experts, const Routing& routing,
                    std::int64_t in, std::int64_t out) {
  const View all = builder.weight(name, {experts.count, in, out});
  builder.set_active_elements(all, experts.per_token * in * out);
  return all.slice(0, 0, routing.used);
}

View expert_ffns(GraphBuilder& builder, const Decoder& model, const Experts& experts, const Routing& routing,
                 const View& x) {
  const std::int64_t dim = x.dims.back();
  const GraphBuilder::MatMulOptions real{{}, MatMul::MaskAxes::kRows, routing.slots};
  const auto weights = [&](const char* name, std::int64_t in, std::int64_t out) {
    return expert_weights(builder, name, experts, routing, in, out);
  };
  View y;
  if (model.gated_ffn) {
    const View gate = builder.activation(
        "gate_act", builder.matmul("gate_proj", x, weights("experts.gate", dim, experts.width), real),
        model.activation);
    y = builder.mul("gate", gate, builder.matmul("up_proj", x, weights("experts.up", dim, experts.width), real));
  } else {
    y = builder.activation("act", builder.matmul("fc1", x, weights("experts.up", dim, experts.width), real),
                           model.activation);
  }
  return builder.matmul("down_proj", y, weights("experts.down", experts.width, dim), real);
}

/// One value a row, [rows, 1], as [rows, columns].
View across(View column, std::int64_t columns) {
  column.dims[1] = columns;
  column.strides[1] = 0;
  return column;
}

} // namespace

View decoder_experts(GraphBuilder& builder, const Decoder& model, const View& x) {
  const Experts& experts = *model.experts;
  const std::int64_t dim = x.dims.back();
  const Routing routing = even_routing(experts, x.dims[0]);
  const std::int64_t k = experts.per_token;
  View logits = dense(builder, "router", x, experts.count, false);
  if (experts.selection_bias) {
    const View bias = builder.weight("router.selection_bias", {experts.count});
    logits = builder.add("router_bias", logits, bias.broadcast(0, x.dims[0]));
  }
  // The weights of a token's experts: softmax over their scores alone.
  const View scores =
      rows_by(builder, "router_select", logits.merge(0).split(0, logits.elements().value(), 1), experts, routing.slots,
              [&](std::int64_t slot) { return slot / k * experts.count + slot % routing.used; });
  const View shares = builder.softmax("router_softmax", scores.split(0, routing.tokens, experts.per_token).merge(1));
  const View share_rows = rows_by(builder, "share_rows", shares.merge(0).split(0, routing.slots, 1), experts,
                                  routing.all_rows(), [&](std::int64_t row) { return routing.slot_of(row); });
  const View rows = rows_by(builder, "dispatch", x, experts, routing.all_rows(), [&](std::int64_t row) {
    const std::int64_t slot = routing.slot_of(row);
    return slot < 0 ? slot : slot / k;
  });
  View y = expert_ffns(builder, model, experts, routing, rows.split(0, routing.used, routing.rows)).as_matrix();
  y = builder.mul("weigh", y, across(share_rows, dim));
  y = rows_by(builder, "combine", y, experts, routing.slots, [&](std::int64_t slot) { return routing.row_of(slot); });
  y = builder.reduce("combine_sum", y.split(0, routing.tokens, experts.per_token), Reduce::Kind::kSum);
  if (experts.shared_width > 0) {
    const Part part(builder, "shared");
    View shared = decoder_ffn(builder, model, experts.shared_width, x);
    if (experts.shared_gate) {
      const View weight = builder.activation("weight_sigmoid", dense(builder, "weight", x, 1, false), StepFn::kSigmoid);
      shared = builder.mul("weigh", shared, across(weight, dim));
    }
    y = builder.add("shared_sum", y, shared);
  }
  return y;
}

} // namespace attnprof::operators
