#pragma once
#include "operators/core/registry.hpp"

namespace attnprof::operators {

/// Parameters that a layout with FFNs takes.
std::vector<std::string> ffn_params();

/// Derives ffn_dim from mlp_ratio and fills the kind and the activation. Throws Error(kInvalid), also for a --kernel
/// that neither the FFN nor the variant has a use for, unless the layout itself has one.
void resolve_ffn(Config& config, double default_ratio, const std::string& default_activation,
                 bool kernel_has_use = false);

/// Feed-forward network on x [tokens, dim]:
/// mlp: act(x w1 + b1) w2 + b2 (Vaswani et al. 2017, eq. 2; GELU in the erf form);
/// mlp_dw: a depthwise convolution with its own activation between the two (Uformer's LeFF);
/// glu: (silu(x wu) * silu(x wv)) wo (Hua et al. 2022, eq. 1 without attention); swiglu: (silu(x wu) * x wv) wo
/// (Shazeer 2020).
View build_ffn(GraphBuilder& builder, const Config& config, const View& x);

/// Step for one of "gelu", "relu", "silu".
StepFn activation_from_name(const std::string& name);

} // namespace attnprof::operators
