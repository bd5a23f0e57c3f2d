#include "operators/layers/linear_mix.hpp"

#include <algorithm>

namespace attnprof::operators {

void resolve_linear_chunk(Config& config) {
  if (config.flag("causal")) {
    config.set("chunk", std::min(config.integer_or("chunk", 64), config.integer("seq_len")));
  } else if (config.has("chunk")) {
    throw Error(ErrorKind::kInvalid,
                "--chunk splits causal linear attention into prefix sums: add --causal or leave it out");
  }
}

std::optional<std::int64_t> chunk_of(const Config& config) {
  return config.flag("causal") ? std::optional(config.integer("chunk")) : std::nullopt;
}

namespace {

/// num / den for every channel; num [..., n, d], den [..., n, 1].
View normalised(GraphBuilder& builder, const View& num, const View& den, bool may_vanish) {
  View divisor = den;
  if (may_vanish) {
    View least = builder.constant("least_divisor", {1}, {1e-6F}); // one number for every row
    for (std::size_t i = den.rank() - 1; i-- > 0;) {
      least = least.broadcast(0, den.dims[i]);
    }
    divisor = builder.add("least", den, least);
  }
  divisor.dims[den.rank() - 1] = num.dims.back();
  divisor.strides[den.rank() - 1] = 0;
  return builder.pointwise("normalise", num, {StepFn::kDivide, 0.0, divisor, {}});
}

/// A vector [..., d] as a column [..., d, 1].
View column(const View& x) {
  return x.broadcast(x.rank(), 1);
}

/// phi(q) (phi(k)ᵀ v) / (phi(q) · sum of phi(k)).
View full(GraphBuilder& builder, const View& q, const View& k, const View& v, bool may_vanish) {
  const View kv = builder.matmul("kv", k.transpose(2, 3), v);
  const View sums = builder.reduce("k_sum", k, Reduce::Kind::kSum);
  return normalised(builder, builder.matmul("mix", q, kv), builder.matmul("normaliser", q, column(sums)), may_vanish);
}

/// Inside a chunk the masked product, before it the prefix sums of phi(k)ᵀ v and phi(k).
View causal(GraphBuilder& builder, const View& q, const View& k, const View& v, std::int64_t chunk, bool may_vanish) {
  const std::int64_t tokens = q.dims[2];
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
  const View local_sums = builder.reduce("local_sum", scores.transpose(3, 4), Reduce::Kind::kSum);
  const View kv = builder.matmul("kv", kc.transpose(3, 4), vc, {{}, MatMul::MaskAxes::kInner, real});
  const View kv_before = builder.cumsum("kv_cumsum", kv.merge(3)).split(3, kv.dims[3], kv.dims[4]);
  const View k_before = builder.cumsum("k_cumsum", builder.reduce("k_sum", kc, Reduce::Kind::kSum));
  const View num =
      builder.add("num", builder.matmul("past_mix", qc, kv_before, {{}, MatMul::MaskAxes::kRows, real}), local);
  const View past_sums = builder.matmul("normaliser", qc, column(k_before), {{}, MatMul::MaskAxes::kRows, real});
  const View den = builder.add("den", past_sums, column(local_sums));
  return normalised(builder, num, den, may_vanish).merge(2).slice(2, 0, tokens);
}

} // namespace

View build_linear_mix(GraphBuilder& builder, const View& q, const View& k, const View& v,
                      std::optional<std::int64_t> causal_chunk, bool may_vanish) {
  return causal_chunk ? causal(builder, q, k, v, *causal_chunk, may_vanish) : full(builder, q, k, v, may_vanish);
}

} // namespace attnprof::operators
