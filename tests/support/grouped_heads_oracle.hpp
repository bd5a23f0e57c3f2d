// Plain-loop group attention, with or without the cascade.
#pragma once
#include "tests/support/naive.hpp"

namespace attnprof::testing {

/// Compares both plans of the case with plain loops; `cascade`: head j adds the output of head j - 1 to its slice.
void check_grouped_heads(const std::string& id, bool cascade);

} // namespace attnprof::testing
