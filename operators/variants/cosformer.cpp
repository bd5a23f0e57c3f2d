#include "operators/layers/heads.hpp"
#include "operators/layers/linear_mix.hpp"
#include "operators/layers/multi_head.hpp"

#include <cmath>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  resolve_head_dim(config);
  resolve_linear_chunk(config);
}

/// cos and sin of pi/2 * i / n for each position i: [n, 2].
View angles(GraphBuilder& builder, std::int64_t tokens) {
  const Count entries = Count(tokens) * 2;
  const auto make = [&] {
    GraphBuilder::Values values = constant_values(entries);
    for (std::int64_t i = 0; values && i < tokens; ++i) {
      const double angle = 1.57079632679489661923 * static_cast<double>(i) / static_cast<double>(tokens);
      values->push_back(static_cast<float>(std::cos(angle)));
      values->push_back(static_cast<float>(std::sin(angle)));
    }
    return values;
  };
  return builder.constant(fmt::format("angles_{}", tokens), {tokens, 2}, make);
}

/// [relu(x) cos, relu(x) sin]: the products of two such vectors weigh by the cosine of the distance.
View features(GraphBuilder& builder, const std::string& name, const View& heads) {
  const View x = builder.activation(name + "_relu", heads, StepFn::kRelu); // [batch, heads, tokens, head_dim]
  const View table = angles(builder, x.dims[2]).broadcast(2, x.dims[3]).broadcast(0, x.dims[1]).broadcast(0, x.dims[0]);
  return builder.mul(name + "_features", x.broadcast(3, 2), table).merge(3);
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const View q = features(builder, "q", project_heads_of(builder, config, "q", x));
  const View k = features(builder, "k", project_heads_of(builder, config, "k", x));
  const View v = project_heads_of(builder, config, "v", x);
  return merge_heads(builder, build_linear_mix(builder, q, k, v, chunk_of(config), true), x.dims.back());
}

} // namespace

VariantDescriptor describe_variant_cosformer() {
  VariantDescriptor out;
  out.name = "cosformer";
  out.summary = "linear attention on relu features, weighed by the cosine of the distance between tokens";
  out.source = "Qin et al. 2022, cosFormer: Rethinking Softmax in Attention, eq. 9 to 11, with M = seq_len";
  out.params = {"heads", "head_dim", "chunk", "causal"};
  out.resolve = resolve;
  out.build = build;
  out.samples = {"batch=2:seq_len=5:dim=16:heads=1", "seq_len=9:dim=24:heads=1:causal=true:chunk=4"};
  return out;
}

} // namespace attnprof::operators
