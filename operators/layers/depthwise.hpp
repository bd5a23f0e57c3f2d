#pragma once
#include "operators/core/registry.hpp"

namespace attnprof::operators {

/// Throws Error(kInvalid) for --cls-token: `who` works on the tokens of a grid alone.
void refuse_cls_token(const Config& config, const std::string& who);

/// Fills grid (the square root of seq_len where that is whole). `who` names the workload in errors. Throws
/// Error(kInvalid) for a seq_len that is no square.
void resolve_token_map(Config& config, const std::string& who);

/// Fills the side of a convolution's kernel that `name` holds. Throws Error(kInvalid) for an even one.
void resolve_kernel(Config& config, const std::string& name, std::int64_t fallback);

/// Fills grid (the square root of seq_len where that is whole) and kernel (3). `who` names the workload in errors.
/// Throws Error(kInvalid) for an even kernel or a seq_len that is no square.
void resolve_depthwise(Config& config, const std::string& who);

/// Depthwise convolution with bias over the token grid, stride 1, same size: x [batch * seq_len, channels]; weights
/// dw [channels, kernel, kernel], db [channels].
View build_depthwise(GraphBuilder& builder, const Grid& grid, std::int64_t kernel, const View& x);
/// The same with the grid and kernel of a configuration.
View build_depthwise(GraphBuilder& builder, const Config& config, const View& x);

} // namespace attnprof::operators
