#include "operators/layers/lower_layout.hpp"

#include "operators/layers/depthwise.hpp"
#include "operators/layers/ffn.hpp"

#include <fmt/format.h>

namespace attnprof::operators {
namespace {

View lower_body(GraphBuilder& builder, const Config& config, const LayoutStep& step, const View& x) {
  switch (step.kind) {
  case LayoutStep::Kind::kMixer: return find_variant(config.text("variant")).build(builder, config, x);
  case LayoutStep::Kind::kFfn: return build_ffn(builder, config, x);
  case LayoutStep::Kind::kDepthwiseConv2d: return build_depthwise(builder, config, x);
  }
  throw Error(ErrorKind::kInternal, "a layout step of unknown kind");
}

View lower_step(GraphBuilder& builder, const Config& config, const LayoutStep& step, const std::string& prefix,
                const View& x) {
  const auto scope = builder.scope(step.scope);
  View inner = x;
  if (!step.norm.empty()) {
    builder.set_weight_prefix(prefix + step.norm);
    const std::int64_t dim = x.dims.back();
    const View gamma = builder.weight("gamma", {dim});
    inner = builder.layernorm("norm", x, gamma, builder.weight("beta", {dim}), 1e-5);
  }
  builder.set_weight_prefix(prefix + step.weight_prefix);
  const View body = lower_body(builder, config, step, inner);
  return step.residual ? builder.add("residual", x, body) : body;
}

} // namespace

View lower_layout(GraphBuilder& builder, const Config& config, const LayoutDescriptor& layout, const View& x) {
  const std::vector<LayoutStep> steps = layout.steps(config);
  if (!config.has("depth")) { // a single operator, not a stack of blocks
    View y = x;
    for (const LayoutStep& step : steps) {
      y = lower_step(builder, config, step, "", y);
    }
    return y;
  }
  View y = x;
  for (std::int64_t block = 0; block < config.integer("depth"); ++block) {
    const auto scope = builder.scope(fmt::format("block{}", block));
    for (const LayoutStep& step : steps) {
      y = lower_step(builder, config, step, fmt::format("block{}.", block), y);
    }
  }
  return y;
}

} // namespace attnprof::operators
