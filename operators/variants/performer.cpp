#include "operators/layers/heads.hpp"
#include "operators/layers/linear_mix.hpp"
#include "operators/layers/multi_head.hpp"

#include <cmath>
#include <fmt/format.h>
#include <random>

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  resolve_head_dim(config);
  resolve_linear_chunk(config);
}

/// Directions of the random features [head_dim, features], standard normal and fixed: a buffer, no parameter.
View directions(GraphBuilder& builder, std::int64_t head_dim, std::int64_t features) {
  const Count entries = Count(head_dim) * features;
  const auto make = [&] {
    std::mt19937 generator(20210330U);
    GraphBuilder::Values values = constant_values(entries);
    for (std::int64_t i = 0; values && i < head_dim * features; ++i) {
      // Box and Muller: std::normal_distribution differs between libraries.
      const double u = (static_cast<double>(generator()) + 1.0) / 4294967297.0;
      const double angle = 2.0 * 3.14159265358979323846 * static_cast<double>(generator()) / 4294967296.0;
      values->push_back(static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(angle)));
    }
    return values;
  };
  return builder.constant(fmt::format("directions_{}_{}", head_dim, features), {head_dim, features}, make);
}

/// exp(x w - |x|²/2) with x scaled by head_dim^(-1/4): positive features, whose scalar product estimates the softmax
/// kernel. Their common factor 1/sqrt(features) cancels in the normalisation.
View positive_features(GraphBuilder& builder, const std::string& name, const View& heads, std::int64_t features) {
  const std::int64_t head_dim = heads.dims.back();
  const View x = builder.scale(name + "_scale", heads, std::pow(static_cast<double>(head_dim), -0.25));
  const View w = directions(builder, head_dim, features).broadcast(0, x.dims[1]).broadcast(0, x.dims[0]);
  const View projected = builder.matmul(name + "_directions", x, w);
  const View squares = builder.activation(name + "_square", x, StepFn::kSquare);
  View norm = builder.reduce(name + "_norm", squares.transpose(2, 3), Reduce::Kind::kSum); // [batch, heads, tokens]
  norm = builder.scale(name + "_half", norm, -0.5);
  const View shifted = builder.add(name + "_shift", projected, norm.broadcast(3, features));
  return builder.activation(name + "_features", shifted, StepFn::kExp);
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const std::int64_t features = config.integer("random_features");
  const View q = positive_features(builder, "q", project_heads_of(builder, config, "q", x), features);
  const View k = positive_features(builder, "k", project_heads_of(builder, config, "k", x), features);
  const View v = project_heads_of(builder, config, "v", x);
  return merge_heads(builder, build_linear_mix(builder, q, k, v, chunk_of(config)), x.dims.back());
}

} // namespace

VariantDescriptor describe_variant_performer() {
  VariantDescriptor out;
  out.name = "performer";
  out.summary = "linear attention on positive random features that estimate the softmax kernel";
  out.source = "Choromanski et al. 2021, Rethinking Attention with Performers, eq. 5 and lemma 1; the released code "
               "also subtracts a maximum for stability, which is left out";
  out.params = {"heads", "head_dim", "chunk", "causal"};
  out.own_params = {{"random_features", ParamKind::kInteger, "features of performer", std::int64_t{64}, 1, 65536, {}}};
  out.resolve = resolve;
  out.build = build;
  out.samples = {"batch=2:seq_len=5:dim=12:heads=3:random_features=7",
                 "seq_len=9:dim=8:heads=2:random_features=3:causal=true:chunk=4"};
  return out;
}

} // namespace attnprof::operators
