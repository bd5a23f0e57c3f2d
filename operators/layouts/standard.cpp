#include "operators/layers/ffn.hpp"

namespace attnprof::operators {

LayoutDescriptor describe_layout_standard() {
  LayoutDescriptor out;
  out.name = "standard";
  out.summary = "pre-norm transformer blocks: x + mixer(norm x), x + FFN(norm x)";
  out.source = "Dosovitskiy et al. 2021, An Image is Worth 16x16 Words, eq. 2 and 3";
  out.params = ffn_params();
  out.params.insert(out.params.end(), {"kernel", "depth"});
  out.resolve = [](Config& config) { resolve_ffn(config, 4.0, "gelu"); };
  out.steps = [](const Config&, std::int64_t) {
    return std::vector<LayoutStep>{{LayoutStep::Kind::kMixer, "mixer", "attn.", "ln1.", true},
                                   {LayoutStep::Kind::kFfn, "ffn", "ffn.", "ln2.", true}};
  };
  out.samples = {"mlp_ratio=2", "depth=2:ffn=swiglu:ffn_dim=5"};
  out.in_default_sweep = true;
  return out;
}

} // namespace attnprof::operators
