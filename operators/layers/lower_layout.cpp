#include "operators/layers/lower_layout.hpp"

#include "operators/layers/depthwise.hpp"
#include "operators/layers/ffn.hpp"
#include "operators/layers/phi.hpp"

namespace attnprof::operators {
namespace {

/// What the steps of a network hand on: the residual stream, and the last mixer's output for those that reuse it.
struct Stream {
  View x;
  View mixed;
};

/// What the last softmax wrote: the weights of the last mixer that computed any.
View last_attention_weights(const Graph& graph) {
  for (std::size_t i = graph.ops.size(); i-- > 0;) {
    if (const auto* softmax = std::get_if<Softmax>(&graph.ops[i].primitive)) {
      return softmax->y;
    }
  }
  throw Error(ErrorKind::kInternal, "no mixer before this block computed attention weights");
}

View lower_body(GraphBuilder& builder, const Config& config, const LayoutStep& step, const View& x, Stream& stream) {
  switch (step.kind) {
  case LayoutStep::Kind::kMixer: {
    const auto build = step.build != nullptr ? step.build : find_variant(config.text("variant")).build;
    return stream.mixed = build(builder, config, x);
  }
  case LayoutStep::Kind::kFfn: return build_ffn(builder, config, x);
  case LayoutStep::Kind::kDepthwiseConv2d: return build_depthwise(builder, config, x);
  case LayoutStep::Kind::kReuseWeights:
    return stream.mixed = find_variant(config.text("variant"))
                              .build_on_weights(builder, config, x, last_attention_weights(builder.graph()));
  case LayoutStep::Kind::kReuse: return stream.mixed = build_phi(builder, config, stream.mixed);
  }
  throw Error(ErrorKind::kInternal, "a layout step of unknown kind");
}

void lower_step(GraphBuilder& builder, const Config& config, const LayoutStep& step, const std::string& prefix,
                Stream& stream) {
  const auto scope = builder.scope(step.scope);
  View inner = stream.x;
  if (!step.norm.empty()) {
    builder.set_weight_prefix(prefix + step.norm);
    const std::int64_t dim = inner.dims.back();
    const View gamma = builder.weight("gamma", {dim});
    inner = builder.layernorm("norm", inner, gamma, builder.weight("beta", {dim}), 1e-5);
  }
  builder.set_weight_prefix(prefix + step.weight_prefix);
  const View body = lower_body(builder, config, step, inner, stream);
  stream.x = step.residual ? builder.add("residual", stream.x, body) : body;
}

} // namespace

View lower_layout(GraphBuilder& builder, const Config& config, const LayoutDescriptor& layout, const View& x) {
  Stream stream{x, x};
  if (!config.has("depth")) { // a single operator, not a stack of blocks
    for (const LayoutStep& step : layout.steps(config, 0)) {
      lower_step(builder, config, step, "", stream);
    }
    return stream.x;
  }
  for (std::int64_t block = 0; block < config.integer("depth"); ++block) {
    const std::string name = "block" + std::to_string(block);
    const auto scope = builder.scope(name);
    const std::string prefix = name + '.';
    for (const LayoutStep& step : layout.steps(config, block)) {
      lower_step(builder, config, step, prefix, stream);
    }
  }
  return stream.x;
}

} // namespace attnprof::operators
