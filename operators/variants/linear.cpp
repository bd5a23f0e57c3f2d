#include "operators/layers/multi_head.hpp"

#include <algorithm>

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  if (!config.has("head_dim")) {
    require_heads_divide(config);
    config.set("head_dim", config.integer("dim") / config.integer("heads"));
  }
  if (config.flag("causal")) {
    config.set("chunk", std::min(config.integer_or("chunk", 64), config.integer("seq_len")));
  } else if (config.has("chunk")) {
    throw Error(ErrorKind::kInvalid,
                "--chunk splits causal linear attention into prefix sums: add --causal or leave it out");
  }
}

StepFn feature_map(const Config& config) {
  const std::string& name = config.text("features");
  if (name == "relu") {
    return StepFn::kRelu;
  }
  return name == "exp" ? StepFn::kExp : StepFn::kEluPlusOne;
}

/// num / den for every channel; num [..., n, d], den [..., n, 1].
View normalised(GraphBuilder& builder, const View& num, const View& den) {
  View divisor = den;
  divisor.dims[den.rank() - 1] = num.dims.back();
  divisor.strides[den.rank() - 1] = 0;
  return builder.pointwise("normalise", num, {StepFn::kDivide, 0.0, divisor, {}});
}

/// A vector [..., d] as a column [..., d, 1].
View column(const View& x) {
  return x.broadcast(x.rank(), 1);
}

/// phi(q) (phi(k)ᵀ v) / (phi(q) · sum of phi(k)); q, k, v [batch, heads, tokens, head_dim].
View full(GraphBuilder& builder, const View& q, const View& k, const View& v) {
  const View kv = builder.matmul("kv", k.transpose(2, 3), v);
  const View sums = builder.reduce("k_sum", k, false);
  return normalised(builder, builder.matmul("mix", q, kv), builder.matmul("normaliser", q, column(sums)));
}

/// Inside a chunk the masked product, before it the prefix sums of phi(k)ᵀ v and phi(k).
View causal(GraphBuilder& builder, const View& q, const View& k, const View& v, std::int64_t chunk,
            std::int64_t tokens) {
  const std::int64_t padded = round_up(tokens, chunk);
  const auto split = [&](const char* leaf, const View& x) {
    return builder.pad_rows(leaf, x, padded).split(2, padded / chunk, chunk);
  };
  const View qc = split("q_pad", q);
  const View kc = split("k_pad", k);
  const View vc = split("v_pad", v);
  const Mask mask{true, 0};
  const std::int64_t sequences = q.dims[0] * q.dims[1];
  const std::int64_t rest = tokens % chunk;
  const std::int64_t pairs = (Count(sequences) * (Count(tokens / chunk) * attended_pairs(mask, chunk, chunk) +
                                                  attended_pairs(mask, rest, rest)))
                                 .value();
  const std::int64_t real = (Count(sequences) * tokens).value();
  View scores = builder.matmul("scores", qc, kc.transpose(3, 4), {mask, MatMul::MaskAxes::kRowsColumns, pairs});
  scores = builder.pointwise("mask", scores, {StepFn::kMaskZero, 0.0, {}, mask});
  const View local = builder.matmul("mix", scores, vc, {mask, MatMul::MaskAxes::kRowsInner, pairs});
  const View local_sums = builder.reduce("local_sum", scores.transpose(3, 4), false);
  const View kv = builder.matmul("kv", kc.transpose(3, 4), vc, {{}, MatMul::MaskAxes::kInner, real});
  const View kv_before = builder.cumsum("kv_cumsum", kv.merge(3)).split(3, kv.dims[3], kv.dims[4]);
  const View k_before = builder.cumsum("k_cumsum", builder.reduce("k_sum", kc, false));
  const View num =
      builder.add("num", builder.matmul("past_mix", qc, kv_before, {{}, MatMul::MaskAxes::kRows, real}), local);
  const View past_sums = builder.matmul("normaliser", qc, column(k_before), {{}, MatMul::MaskAxes::kRows, real});
  const View den = builder.add("den", past_sums, column(local_sums));
  return normalised(builder, num, den).merge(2).slice(2, 0, tokens);
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const std::int64_t batch = config.integer("batch");
  const std::int64_t tokens = x.dims[0] / batch;
  const std::int64_t dim = x.dims.back();
  const std::int64_t heads = config.integer("heads");
  const std::int64_t head_dim = config.integer("head_dim");
  const auto project = [&](const std::string& name) {
    const View y = builder.matmul(name + "_proj", x, builder.weight("w" + name, {dim, heads * head_dim}));
    return builder.layout_copy(name + "_split", y.split(0, batch, tokens).split(2, heads, head_dim).transpose(1, 2));
  };
  const View q = builder.activation("q_features", project("q"), feature_map(config));
  const View k = builder.activation("k_features", project("k"), feature_map(config));
  const View v = project("v");
  const View mixed =
      config.flag("causal") ? causal(builder, q, k, v, config.integer("chunk"), tokens) : full(builder, q, k, v);
  const View merged = builder.layout_copy("merge", mixed.transpose(1, 2)).merge(2).as_matrix();
  return builder.matmul("out_proj", merged, builder.weight("wo", {heads * head_dim, dim}));
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
  out.samples = {"batch=2:seq_len=5:dim=12:heads=3", "seq_len=6:dim=8:heads=2:features=exp",
                 "seq_len=9:dim=8:heads=2:causal=true:chunk=4",
                 "batch=2:seq_len=8:dim=8:heads=2:causal=true:chunk=4:features=exp"};
  out.in_default_sweep = true;
  return out;
}

} // namespace attnprof::operators
