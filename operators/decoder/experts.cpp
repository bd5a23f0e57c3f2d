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

/// Who goes where when slot s = token * per_token + k goes to expert s mod count: the first experts in use, each with
/// the same number of rows, the last rows of some being padding.
struct Routing {
  std::int64_t tokens, slots, used, rows; ///< rows of one expert
  std::vector<float> token_of_row, slot_of_row, row_of_slot, score_of_slot;
};

Routing even_routing(const Experts& experts, std::int64_t tokens) {
  Routing out;
  out.tokens = tokens;
  out.slots = tokens * experts.per_token;
  out.used = std::min(experts.count, out.slots);
  out.rows = ceil_div(out.slots, out.used);
  out.row_of_slot = constant_values("the routing to experts", Count(out.slots) * 2, kMaxIndexedRows);
  out.score_of_slot = constant_values("the router's scores", Count(tokens) * experts.count, kMaxIndexedRows);
  const auto rows = static_cast<std::size_t>(out.used * out.rows);
  out.token_of_row.assign(rows, -1.0F);
  out.slot_of_row.assign(rows, -1.0F);
  for (std::int64_t slot = 0; slot < out.slots; ++slot) {
    const std::int64_t expert = slot % out.used;
    const std::int64_t row = expert * out.rows + slot / out.used;
    const std::int64_t token = slot / experts.per_token;
    out.token_of_row[static_cast<std::size_t>(row)] = static_cast<float>(token);
    out.slot_of_row[static_cast<std::size_t>(row)] = static_cast<float>(slot);
    out.row_of_slot.push_back(static_cast<float>(row));
    out.score_of_slot.push_back(static_cast<float>(token * experts.count + expert));
  }
  return out;
}

View rows_by(GraphBuilder& builder, const std::string& name, const View& x, const Experts& experts,
             const std::vector<float>& index) {
  const auto count = static_cast<std::int64_t>(index.size());
  const std::string key = fmt::format("{}_{}_of_{}_{}", name, experts.per_token, experts.count, count);
  return builder.gather(name, x, builder.constant(key, {count}, index));
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

} // namespace

View decoder_experts(GraphBuilder& builder, const Decoder& model, const View& x) {
  const Experts& experts = *model.experts;
  const std::int64_t dim = x.dims.back();
  const Routing routing = even_routing(experts, x.dims[0]);
  View logits = dense(builder, "router", x, experts.count, false);
  if (experts.selection_bias) {
    const View bias = builder.weight("router.selection_bias", {experts.count});
    logits = builder.add("router_bias", logits, bias.broadcast(0, x.dims[0]));
  }
  // The weights of a token's experts: softmax over their scores alone.
  const View scores = rows_by(builder, "router_select", logits.merge(0).split(0, logits.elements().value(), 1), experts,
                              routing.score_of_slot);
  const View shares = builder.softmax("router_softmax", scores.split(0, routing.tokens, experts.per_token).merge(1));
  const View share_rows =
      rows_by(builder, "share_rows", shares.merge(0).split(0, routing.slots, 1), experts, routing.slot_of_row);
  const View rows = rows_by(builder, "dispatch", x, experts, routing.token_of_row);
  View y = expert_ffns(builder, model, experts, routing, rows.split(0, routing.used, routing.rows)).as_matrix();
  View share = share_rows;
  share.dims[1] = dim;
  share.strides[1] = 0;
  y = builder.mul("weigh", y, share);
  y = rows_by(builder, "combine", y, experts, routing.row_of_slot);
  y = builder.reduce("combine_sum", y.split(0, routing.tokens, experts.per_token), Reduce::Kind::kSum);
  if (experts.shared_width > 0) {
    const Part part(builder, "shared");
    y = builder.add("shared_sum", y, decoder_ffn(builder, model, experts.shared_width, x));
  }
  return y;
}

} // namespace attnprof::operators
