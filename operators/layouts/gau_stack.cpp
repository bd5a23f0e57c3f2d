#include "operators/core/registry.hpp"

namespace attnprof::operators {

LayoutDescriptor describe_layout_gau_stack() {
  LayoutDescriptor out;
  out.name = "gau_stack";
  out.summary =
      "pairs of pre-norm gated units in place of an attention and an FFN: FLASH-Quad with gau, FLASH with flash";
  out.source = "Hua et al. 2022, Transformer Quality in Linear Time, section 3.2 and figure 2";
  out.params = {"depth"};
  out.fallbacks = {{"variant", std::string("gau")}};
  out.steps = [](const Config&, std::int64_t) {
    return std::vector<LayoutStep>{{LayoutStep::Kind::kMixer, "mixer0", "unit0.", "ln0.", true},
                                   {LayoutStep::Kind::kMixer, "mixer1", "unit1.", "ln1.", true}};
  };
  out.samples = {"", "depth=2"};
  return out;
}

} // namespace attnprof::operators
