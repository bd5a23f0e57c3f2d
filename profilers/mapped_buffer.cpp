#include "profilers/mapped_buffer.hpp"

#include "operators/core/error.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sys/mman.h>
#include <utility>

namespace attnprof::profilers {

MappedBuffer::MappedBuffer(std::size_t bytes) {
  // Whole huge pages, or the tail stays on small ones.
  constexpr std::size_t kHugePage = std::size_t{2} << 20U;
  const std::size_t rounded = bytes < kHugePage ? bytes : (bytes + kHugePage - 1) / kHugePage * kHugePage;
  if (rounded == 0)
    return;
  void* memory = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw operators::Error(operators::ErrorKind::kMemory,
                           fmt::format("cannot map {} bytes for a measurement; free memory or lower the limit of the "
                                       "process (ulimit -v)",
                                       rounded));
  // Advice: without it 4 KiB pages are used, which is slower and not wrong.
  ::madvise(memory, rounded, MADV_HUGEPAGE);
  memory_ = static_cast<std::byte*>(memory);
  size_ = rounded;
}

MappedBuffer::~MappedBuffer() {
  if (memory_ != nullptr)
    ::munmap(memory_, size_);
}

MappedBuffer::MappedBuffer(MappedBuffer&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedBuffer& MappedBuffer::operator=(MappedBuffer&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  return *this;
}

std::span<float> MappedBuffer::floats() const {
  return {reinterpret_cast<float*>(memory_), size_ / sizeof(float)};
}

void MappedBuffer::touch(float value) const {
  std::ranges::fill(floats(), value);
}

} // namespace attnprof::profilers
