#pragma once
#include <cstdint>

namespace attnprof::tests {

inline constexpr std::int64_t kKiB = 1024;
inline constexpr std::int64_t kMiB = 1024 * kKiB;

} // namespace attnprof::tests
