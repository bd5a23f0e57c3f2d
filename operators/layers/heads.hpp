#pragma once
#include "operators/core/registry.hpp"

// How ordinary heads come out of a stream and go back into it; every mixer with heads uses these.
namespace attnprof::operators {

/// x "w" + name [+ "b" + name]: [rows, dim] -> [rows, width].
View project(GraphBuilder& builder, std::string_view name, const View& x, std::int64_t width, bool bias = false);

/// [batch * tokens, heads * width] -> [batch, heads, tokens, width]; eager frameworks copy here.
View split_heads(GraphBuilder& builder, std::string_view name, const View& x, std::int64_t batch, std::int64_t heads);

/// Heads [batch, heads, tokens, width] side by side, times "wo" [+ "bo"]: [batch * tokens, dim].
View merge_heads(GraphBuilder& builder, const View& heads, std::int64_t dim, bool bias = false);

/// Queries, keys or values of a configuration's heads and head_dim: [batch, heads, tokens, head_dim].
View project_heads_of(GraphBuilder& builder, const Config& config, std::string_view name, const View& x);

} // namespace attnprof::operators
