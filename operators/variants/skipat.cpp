#include "operators/layers/phi.hpp"

namespace attnprof::operators {
namespace {

/// An operator has an output of its own: the identity is a copy here, and nothing inside the skipat layout.
View build(GraphBuilder& builder, const Config& config, const View& x) {
  const View y = build_phi(builder, config, x);
  if (y.tensor != x.tensor) {
    return y;
  }
  const View out = builder.temporary(x.dims);
  builder.copy_into("identity", x, out);
  return out;
}

} // namespace

VariantDescriptor describe_variant_skipat() {
  VariantDescriptor out;
  out.name = "skipat";
  out.summary = "SkipAt's phi alone, the parametric function that replaces the attention of a skipped block";
  out.source =
      "Venkataramanan et al. 2023, Skip-Attention: Improving Vision Transformers by Paying Less Attention, eq. 5 to 8";
  out.params = phi_params();
  out.own_params = phi_own_params();
  out.resolve = [](Config& config) {
    if (!config.has("phi")) { // else a layout has prepared it
      prepare_phi(config);
    }
    resolve_phi(config);
  };
  out.build = build;
  out.samples = {"batch=2:grid=3x4:dim=6:kernel=3", "grid=3x3:seq_len=10:dim=4:cls_token=true:expansion=0.5",
                 "grid=3x3:dim=4:phi=conv:kernel=3", "grid=3x3:dim=4:phi=dwc:kernel=7",
                 "batch=2:grid=2x3:dim=4:phi=identity"};
  return out;
}

} // namespace attnprof::operators
