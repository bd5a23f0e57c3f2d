#include "operators/layers/ffn.hpp"

namespace attnprof::operators {

LayoutDescriptor describe_layout_ffn() {
  LayoutDescriptor out;
  out.name = "ffn";
  out.summary = "a feed-forward network alone: mlp, mlp with depthwise convolution, glu or swiglu";
  out.source =
      "Vaswani et al. 2017, eq. 2; Shazeer 2020, GLU Variants Improve Transformer; Wang et al. 2022, Uformer, fig. 3";
  out.params = ffn_params();
  out.params.emplace_back("kernel");
  out.takes_variant = false;
  out.resolve = [](Config& config) { resolve_ffn(config, 4.0, "gelu"); };
  out.steps = [](const Config&, std::int64_t) {
    return std::vector<LayoutStep>{{LayoutStep::Kind::kFfn, "ffn", "", "", false}};
  };
  out.samples = {"seq_len=5:dim=6:mlp_ratio=2",     "seq_len=5:dim=6:ffn_dim=7:activation=relu",
                 "seq_len=5:dim=6:activation=silu", "batch=2:seq_len=5:dim=6:ffn=glu",
                 "seq_len=5:dim=6:ffn=swiglu",      "batch=2:grid=3x4:dim=6:ffn=mlp_dw:kernel=5"};
  return out;
}

} // namespace attnprof::operators
