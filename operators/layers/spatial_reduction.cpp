#include "operators/layers/spatial_reduction.hpp"

#include "operators/layers/depthwise.hpp"
#include "operators/layers/heads.hpp"

#include <cmath>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

View reduced(GraphBuilder& builder, const SpatialReduction& a, const View& x) {
  if (a.reduction == 1) {
    return x;
  }
  const View map = x.split(0, a.batch, a.side_rows * a.side_columns).split(1, a.side_rows, a.side_columns);
  const std::int64_t dim = x.dims.back();
  const View w = builder.weight("sr", {dim, a.reduction, a.reduction, dim});
  const View small = builder.conv2d("reduction", map, w, builder.weight("sr_b", {dim}), a.reduction, 0, 1);
  return norm(builder, "sr_norm", as_tokens(small), 1e-5);
}

} // namespace

ParamSpec reduction_param() {
  return {"reduction", ParamKind::kInteger, "side of the key map's reduction", std::int64_t{1}, 1, 64, {}};
}

void resolve_spatial_reduction(Config& config, const std::string& who) {
  require_heads_divide(config);
  refuse_cls_token(config, who);
  resolve_token_map(config, who);
  const Grid grid = config.grid();
  const std::int64_t reduction = config.integer("reduction");
  if (grid.height % reduction != 0 || grid.width % reduction != 0) {
    throw Error(ErrorKind::kInvalid,
                fmt::format("--reduction {} does not divide the sides of --grid {}", reduction, config.text("grid")));
  }
}

SpatialReduction spatial_reduction_of(const Config& config) {
  const Grid grid = config.grid();
  return {config.integer("batch"),     grid.height, grid.width, 0, config.integer("heads"),
          config.integer("reduction"), false};
}

View build_spatial_reduction(GraphBuilder& builder, const SpatialReduction& a, const View& x) {
  const std::int64_t dim = x.dims.back();
  const View q = split_heads(builder, "q", project(builder, "q", x, dim, a.biases), a.batch, a.heads);
  const View keys = reduced(builder, a, x);
  const View kv = project(builder, "kv", keys, 2 * dim, a.biases);
  const View k = split_heads(builder, "k", kv.slice(1, 0, dim), a.batch, a.heads);
  const View v = split_heads(builder, "v", kv.slice(1, dim, dim), a.batch, a.heads);
  const double scale = 1.0 / std::sqrt(static_cast<double>(dim / a.heads));
  const View mixed = build_attention_core(builder, q, k, v, {scale, 0.0, {}, {}});
  return merge_heads(builder, mixed, dim, a.biases);
}

} // namespace attnprof::operators
