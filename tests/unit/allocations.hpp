#pragma once
#include <atomic>
#include <cstdint>

namespace attnprof::tests {

/// Allocations of the whole process so far, and those of more than 1 KiB. Under a sanitizer, which brings an allocator
/// of its own, they stay 0.
extern std::atomic<std::int64_t> allocations;
extern std::atomic<std::int64_t> large_allocations;

} // namespace attnprof::tests
