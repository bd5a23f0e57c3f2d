#pragma once
#include "operators/core/registry.hpp"

namespace attnprof::operators {

/// Parameters of phi beside the common ones, and the class token that passes it by.
std::vector<std::string> phi_params();
std::vector<ParamSpec> phi_own_params();

/// On what was given: fills phi (full), kernel (5), expansion (2) and eca_kernel (3). Throws Error(kInvalid) for one
/// that neither phi nor anything else in the workload has a use for; `reuses_weights`: there is no phi at all.
void prepare_phi(Config& config, bool reuses_weights = false);
/// Fills the grid and checks sizes. Throws Error(kInvalid).
void resolve_phi(Config& config);

struct Phi {
  std::string kind = "full"; ///< identity, conv, dwc or full
  std::int64_t batch = 1;
  Grid grid;
  std::int64_t kernel = 5, eca_kernel = 3;
  double expansion = 2.0;
  bool cls_token = false; ///< the first token of each sequence passes unchanged
};

/// What stands in for a skipped mixer, on the features z [batch * seq_len, dim] of an earlier block:
/// full: ECA(FC2(GELU(DwC(GELU(FC1(z)))))); conv: a dense convolution; dwc: a depthwise one; identity: z itself.
/// Source: Venkataramanan et al. 2023, Skip-Attention, eq. 5 to 8 and table 7; ECA: Wang et al. 2020.
View build_phi(GraphBuilder& builder, const Phi& phi, const View& z);
/// The same with the values of a configuration that resolve_phi completed.
View build_phi(GraphBuilder& builder, const Config& config, const View& z);

} // namespace attnprof::operators
