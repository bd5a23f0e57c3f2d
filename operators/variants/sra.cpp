#include "operators/layers/spatial_reduction.hpp"

namespace attnprof::operators {
namespace {

View build(GraphBuilder& builder, const Config& config, const View& x) {
  return build_spatial_reduction(builder, spatial_reduction_of(config), x);
}

} // namespace

VariantDescriptor describe_variant_sra() {
  VariantDescriptor out;
  out.name = "sra";
  out.summary = "spatial-reduction attention, keys and values from a map that a strided convolution made smaller";
  out.source = "Wang et al. 2021, Pyramid Vision Transformer, eq. 1 to 4";
  out.params = {"heads"};
  out.own_params = {reduction_param()};
  out.resolve = [](Config& config) { resolve_spatial_reduction(config, "sra"); };
  out.build = build;
  out.samples = {"batch=2:grid=4x6:dim=8:heads=2:reduction=2", "grid=3x3:dim=6:heads=3",
                 "grid=8x8:dim=4:heads=1:reduction=4"};
  return out;
}

} // namespace attnprof::operators
