#include "operators/layers/heads.hpp"
#include "operators/layers/multi_head.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

constexpr int kIterations = 6;

void resolve(Config& config) {
  resolve_head_dim(config);
  const std::int64_t tokens = config.integer("seq_len");
  std::int64_t near = std::min(config.integer_or("landmarks", 32), tokens);
  while (tokens % near != 0) {
    --near;
  }
  if (!config.has("landmarks")) {
    config.set("landmarks", near);
  }
  const std::int64_t landmarks = config.integer("landmarks");
  if (tokens % landmarks != 0) {
    throw Error(
        ErrorKind::kInvalid,
        fmt::format("--landmarks {} does not divide --seq-len {}: a landmark is the mean of an equal part of the "
                    "sequence; the next smaller count that does is {}",
                    landmarks, tokens, near));
  }
}

View each_matrix(const View& matrix, const View& like) {
  return matrix.broadcast(0, like.dims[1]).broadcast(0, like.dims[0]);
}

/// `value` on the diagonal minus x.
View diagonal_minus(GraphBuilder& builder, const std::string& name, double value, const View& x) {
  const std::int64_t n = x.dims[3];
  const Count entries = Count(n) * n;
  const auto make = [&] {
    GraphBuilder::Values values = constant_values(entries);
    for (std::int64_t i = 0; values && i < n * n; ++i) {
      values->push_back(i % (n + 1) == 0 ? static_cast<float>(value) : 0.0F);
    }
    return values;
  };
  const View diagonal = builder.constant(fmt::format("diagonal_{}_{}", value, n), {n, n}, make);
  return builder.add(name + "_diagonal", builder.scale(name + "_minus", x, -1.0), each_matrix(diagonal, x));
}

/// Pseudo-inverse of the rows of a softmax, a [batch, heads, n, n], by a third-order iteration. It starts from the
/// transpose over the product of the largest column sum and the largest row sum, which is 1.
View pseudo_inverse(GraphBuilder& builder, const View& a) {
  const std::int64_t n = a.dims[3];
  const View sums = builder.reduce("inverse_columns", a, Reduce::Kind::kSum); // [batch, heads, n]
  const View largest = builder.reduce("inverse_norm", sums.broadcast(3, 1), Reduce::Kind::kMax);
  View divisor = largest.broadcast(2, n);
  divisor.dims[3] = n;
  divisor.strides[3] = 0;
  View z = builder.pointwise("inverse_start", a.transpose(2, 3), {StepFn::kDivide, 0.0, divisor, {}});
  for (int i = 0; i < kIterations; ++i) {
    const auto scope = builder.scope(fmt::format("inverse{}", i));
    const View az = builder.matmul("product", a, z);
    View y = diagonal_minus(builder, "inner", 7.0, az);
    y = diagonal_minus(builder, "middle", 15.0, builder.matmul("inner_product", az, y));
    y = diagonal_minus(builder, "outer", 13.0, builder.matmul("middle_product", az, y));
    z = builder.scale("quarter", builder.matmul("outer_product", z, y), 0.25);
  }
  return z;
}

/// Means of equal parts of the sequence.
View landmarks_of(GraphBuilder& builder, const std::string& name, const View& x, std::int64_t count) {
  return builder.reduce(name + "_landmarks", x.split(2, count, x.dims[2] / count), Reduce::Kind::kMean);
}

View weights(GraphBuilder& builder, const std::string& name, const View& q, const View& k) {
  const View scores = builder.matmul(name + "_scores", q, k.transpose(2, 3));
  const double scale = 1.0 / std::sqrt(static_cast<double>(q.dims[3]));
  return builder.softmax(name + "_softmax", builder.scale(name + "_scale", scores, scale));
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const std::int64_t count = config.integer("landmarks");
  const View q = project_heads_of(builder, config, "q", x);
  const View k = project_heads_of(builder, config, "k", x);
  const View v = project_heads_of(builder, config, "v", x);
  const View q_marks = landmarks_of(builder, "q", q, count);
  const View k_marks = landmarks_of(builder, "k", k, count);
  const View inverse = pseudo_inverse(builder, weights(builder, "landmark", q_marks, k_marks));
  const View gathered = builder.matmul("gather_mix", weights(builder, "gather", q_marks, k), v);
  const View middle = builder.matmul("inverse_mix", inverse, gathered);
  const View mixed = builder.matmul("mix", weights(builder, "spread", q, k_marks), middle);
  return merge_heads(builder, mixed, x.dims.back());
}

} // namespace

VariantDescriptor describe_variant_nystromformer() {
  VariantDescriptor out;
  out.name = "nystromformer";
  out.summary = "attention through landmark tokens, with an iterated pseudo-inverse";
  out.source = "Xiong et al. 2021, Nystromformer, eq. 11 to 14; without the optional skip convolution";
  out.params = {"heads", "head_dim"};
  out.own_params = {{"landmarks",
                     ParamKind::kInteger,
                     "landmark tokens of nystromformer (the largest divisor of seq_len up to 32)",
                     {},
                     1,
                     4096,
                     {}}};
  out.resolve = resolve;
  out.build = build;
  out.samples = {"batch=2:seq_len=6:dim=12:heads=3:landmarks=3", "seq_len=8:dim=8:heads=2:landmarks=2"};
  return out;
}

} // namespace attnprof::operators
