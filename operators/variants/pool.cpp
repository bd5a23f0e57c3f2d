#include "operators/layers/depthwise.hpp"
#include "operators/layers/pool_mix.hpp"

namespace attnprof::operators {
namespace {

void resolve(Config& config) {
  refuse_cls_token(config, "pool");
  resolve_depthwise(config, "pool");
}

View build(GraphBuilder& builder, const Config& config, const View& x) {
  const Grid grid = config.grid();
  const View map = x.split(0, config.integer("batch"), grid.height * grid.width).split(1, grid.height, grid.width);
  return build_pool_mix(builder, map, config.integer("kernel")).as_matrix();
}

} // namespace

VariantDescriptor describe_variant_pool() {
  VariantDescriptor out;
  out.name = "pool";
  out.summary = "average pooling minus the token itself: a mixer without parameters";
  out.source = "Yu et al. 2022, MetaFormer Is Actually What You Need for Vision, eq. 4";
  out.params = {"kernel"};
  out.resolve = resolve;
  out.build = build;
  out.samples = {"batch=2:grid=3x4:dim=5", "grid=4x4:dim=3:kernel=5"};
  return out;
}

} // namespace attnprof::operators
