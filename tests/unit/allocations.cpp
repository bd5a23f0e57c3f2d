#include "tests/unit/allocations.hpp"

#include <cstddef>

#if !defined(__SANITIZE_ADDRESS__)
// Every allocation of the process passes here: the program's, the C++ library's, the thread runtime's. A sanitizer
// brings its own allocator, so there the test counts nothing.
namespace attnprof::tests {
std::atomic<std::int64_t> allocations{0};
std::atomic<std::int64_t> large_allocations{0};
} // namespace attnprof::tests

namespace {
using attnprof::tests::allocations;
using attnprof::tests::large_allocations;

void count_allocation(std::size_t size) {
  ++allocations;
  large_allocations += size > 1024 ? 1 : 0;
}
} // namespace
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
[[gnu::visibility("default")]] void* malloc(std::size_t size) {
  count_allocation(size);
  return __libc_malloc(size);
}
[[gnu::visibility("default")]] void* calloc(std::size_t count, std::size_t size) {
  count_allocation(count * size);
  return __libc_calloc(count, size);
}
[[gnu::visibility("default")]] void* realloc(void* memory, std::size_t size) {
  count_allocation(size);
  return __libc_realloc(memory, size);
}
[[gnu::visibility("default")]] void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count_allocation(size);
  return __libc_memalign(alignment, size);
}
[[gnu::visibility("default")]] int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  count_allocation(size);
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? 12 : 0;
}
}
#else
namespace attnprof::tests {
std::atomic<std::int64_t> allocations{0};
std::atomic<std::int64_t> large_allocations{0};
} // namespace attnprof::tests
#endif
