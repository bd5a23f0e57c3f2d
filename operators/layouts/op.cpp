#include "operators/core/registry.hpp"

namespace attnprof::operators {

LayoutDescriptor describe_layout_op() {
  LayoutDescriptor out;
  out.name = "op";
  out.summary = "the attention operator alone, with its projections";
  out.source = "the variant's own";
  out.steps = [](const Config&, std::int64_t) {
    return std::vector<LayoutStep>{{LayoutStep::Kind::kMixer, "mixer", "", "", false}};
  };
  out.samples = {""};
  out.in_default_sweep = true;
  return out;
}

} // namespace attnprof::operators
