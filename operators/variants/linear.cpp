#include "operators/layers/heads.hpp"
#include "operators/layers/linear_mix.hpp"
#include "operators/layers/multi_head.hpp"

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  resolve_head_dim(config);
  resolve_linear_chunk(config);
}

StepFn feature_map(const Config& config) {
  const std::string& name = config.text("features");
  if (name == "relu") {
    return StepFn::kRelu;
  }
  return name == "exp" ? StepFn::kExp : StepFn::kEluPlusOne;
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const auto features = [&](const std::string& name) {
    return builder.activation(name + "_features", project_heads_of(builder, config, name, x), feature_map(config));
  };
  const View q = features("q");
  const View k = features("k");
  const View v = project_heads_of(builder, config, "v", x);
  const View mixed = build_linear_mix(builder, q, k, v, chunk_of(config), feature_map(config) == StepFn::kRelu);
  return merge_heads(builder, mixed, x.dims.back());
}

} // namespace

VariantDescriptor describe_variant_linear() {
  VariantDescriptor out;
  out.name = "linear";
  out.summary = "linear attention, a feature map in place of the softmax, causal as chunked prefix sums";
  out.source = "Katharopoulos et al. 2020, Transformers are RNNs, eq. 4 to 7";
  out.params = {"heads", "head_dim", "chunk", "causal"};
  out.own_params = {{"features",
                     ParamKind::kChoice,
                     "feature map of linear attention",
                     std::string("elu1"),
                     0,
                     0,
                     {"elu1", "relu", "exp"}}};
  out.resolve = resolve;
  out.build = build;
  out.samples = {"batch=2:seq_len=5:dim=12:heads=3",
                 "seq_len=6:dim=8:heads=2:features=exp",
                 "seq_len=9:dim=8:heads=2:causal=true:chunk=4",
                 "batch=2:seq_len=9:dim=6:heads=3:features=relu",
                 "seq_len=9:dim=6:heads=3:causal=true:chunk=4:features=relu",
                 "batch=2:seq_len=8:dim=8:heads=2:causal=true:chunk=4:features=exp"};
  out.in_default_sweep = true;
  return out;
}

} // namespace attnprof::operators
