#include "operators/layers/ffn.hpp"
#include "operators/layers/phi.hpp"
#include "operators/layers/skip_list.hpp"

#include <fmt/format.h>

namespace attnprof::operators {
namespace {

void prepare(Config& config) {
  prepare_phi(config, config.text("reuse") == "weights");
}

void resolve(Config& config) {
  resolve_ffn(config, 4.0, "gelu", true);
  config.set("skip", canonical_skip(config.text("skip"), config.integer("depth")));
  if (config.text("reuse") == "output") {
    resolve_phi(config);
    return;
  }
  if (find_variant(config.text("variant")).build_on_weights == nullptr) {
    throw Error(ErrorKind::kInvalid, fmt::format("--reuse weights needs attention weights, which --variant {} has none "
                                                 "to give: use mha, mqa or gqa, or --reuse output",
                                                 config.text("variant")));
  }
}

/// A skipped block has no norm in front of phi: phi reads what the mixer, or the phi before it, put out.
std::vector<LayoutStep> steps(const Config& config, std::int64_t block) {
  const LayoutStep ffn{LayoutStep::Kind::kFfn, "ffn", "ffn.", "ln2.", true};
  if (is_skipped(config.text("skip"), block) && config.text("reuse") == "weights") {
    return {{LayoutStep::Kind::kReuseWeights, "mixer", "attn.", "ln1.", true}, ffn};
  }
  if (is_skipped(config.text("skip"), block)) {
    return {{LayoutStep::Kind::kReuse, "phi", "phi.", "", true}, ffn};
  }
  return {{LayoutStep::Kind::kMixer, "mixer", "attn.", "ln1.", true}, ffn};
}

} // namespace

LayoutDescriptor describe_layout_skipat() {
  LayoutDescriptor out;
  out.name = "skipat";
  out.summary = "standard blocks, some of which reuse the attention output of an earlier one through phi";
  out.source = "Venkataramanan et al. 2023, Skip-Attention: Improving Vision Transformers by Paying Less Attention, "
               "figure 3, eq. 4";
  out.params = ffn_params();
  const std::vector<std::string> phi = phi_params();
  out.params.insert(out.params.end(), phi.begin(), phi.end());
  out.params.insert(out.params.end(), {"depth", "skip"});
  out.own_params = phi_own_params();
  out.own_params.push_back({"reuse",
                            ParamKind::kChoice,
                            "of a skipped block: the mixer's output, or its attention weights",
                            std::string("output"),
                            0,
                            0,
                            {"output", "weights"}});
  out.fallbacks = {{"depth", std::int64_t{12}}, {"skip", std::string("3-8")}};
  out.prepare = prepare;
  out.resolve = resolve;
  out.steps = steps;
  out.samples = {"depth=3:skip=1-2:mlp_ratio=2:kernel=3", "depth=4:skip=1,3:phi=identity:mlp_ratio=1",
                 "depth=2:skip=1:phi=dwc:kernel=3:mlp_ratio=1", "depth=3:skip=1-2:reuse=weights:mlp_ratio=1"};
  return out;
}

} // namespace attnprof::operators
