// Plain-loop multi-head attention with shared key heads, and the metamorphic relations of its cases.
#pragma once
#include "tests/support/naive.hpp"

namespace attnprof::testing {

std::size_t heads_of(const std::string& id);
/// Compares both plans of the case with plain loops.
void check_multi_head(const std::string& id, std::size_t kv_heads);
/// Five tokens decoded one by one, each appending to the caches, against one causal prefill of five.
void check_decode_is_prefill(const std::string& id, std::size_t kv_heads, std::size_t width);
/// The same with chunks of two and three tokens.
void check_chunked_prefill(const std::string& id, std::size_t kv_heads, std::size_t width);
/// Changing the last token leaves every earlier output row as it was.
void check_causality(const std::string& id);

} // namespace attnprof::testing
