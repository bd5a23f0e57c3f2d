#pragma once
#include <cstdint>
#include <string>

namespace attnprof::operators {

/// Reads "3-8" or "3,5,7,9" (blocks counted from 0) and returns it sorted in the shortest form. Throws Error(kInvalid)
/// for block 0, which has nothing before it to reuse, for blocks beyond `depth` and for anything else.
std::string canonical_skip(const std::string& text, std::int64_t depth);
bool is_skipped(const std::string& canonical, std::int64_t block);

} // namespace attnprof::operators
