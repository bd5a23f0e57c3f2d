#include "operators/layers/heads.hpp"
#include "operators/layers/multi_head.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  resolve_head_dim(config);
  const std::int64_t tokens = config.integer("seq_len");
  if (!config.has("projected_len")) {
    config.set("projected_len", std::min<std::int64_t>(64, tokens));
  }
  if (config.integer("projected_len") > tokens) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("--projected-len {} is longer than --seq-len {}, and the map shortens: "
                            "use at most {}",
                            config.integer("projected_len"), tokens, tokens));
  }
}

/// e x for every head: [batch, heads, tokens, head_dim] -> [batch, heads, length, head_dim].
View shortened(GraphBuilder& builder, const std::string& name, const View& x, std::int64_t length) {
  const View e = builder.weight("e" + name, {length, x.dims[2]}).broadcast(0, x.dims[1]).broadcast(0, x.dims[0]);
  return builder.matmul(name + "_length_proj", e, x);
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const std::int64_t length = config.integer("projected_len");
  const View q = project_heads_of(builder, config, "q", x);
  const View k = shortened(builder, "k", project_heads_of(builder, config, "k", x), length);
  const View v = shortened(builder, "v", project_heads_of(builder, config, "v", x), length);
  const double scale = 1.0 / std::sqrt(static_cast<double>(q.dims[3]));
  return merge_heads(builder, build_attention_core(builder, q, k, v, {scale, 0.0, {}, {}}), x.dims.back());
}

} // namespace

VariantDescriptor describe_variant_linformer() {
  VariantDescriptor out;
  out.name = "linformer";
  out.summary = "softmax attention over keys and values that a learned map shortens to a fixed length";
  out.source = "Wang et al. 2020, Linformer: Self-Attention with Linear Complexity, eq. 7, projections shared by heads";
  out.params = {"heads", "head_dim"};
  out.own_params = {
      {"projected_len", ParamKind::kInteger, "keys that linformer keeps (64, at most seq_len)", {}, 1, 1'000'000, {}}};
  out.resolve = resolve;
  out.build = build;
  out.samples = {"batch=2:seq_len=5:dim=12:heads=3:projected_len=3", "seq_len=70:dim=8:heads=2:projected_len=4"};
  return out;
}

} // namespace attnprof::operators
