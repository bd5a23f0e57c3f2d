// Anonymous memory for measurements: huge pages where the system gives them, and touched before anything is timed.
#pragma once

#include <cstddef>
#include <span>

namespace attnprof::profilers {

/// Page-aligned memory of its own; movable. Throws operators::Error(kMemory) when the system has no more.
class MappedBuffer {
 public:
  MappedBuffer() = default;
  /// Maps `bytes` and asks for huge pages; nothing is touched yet, so that the thread that will use it can do so.
  explicit MappedBuffer(std::size_t bytes);
  ~MappedBuffer();
  MappedBuffer(MappedBuffer&& other) noexcept;
  MappedBuffer& operator=(MappedBuffer&& other) noexcept;

  std::byte* bytes() const { return memory_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<float> floats() const;
  /// Writes every element: a page that was never written aliases the one page of zeros, and its first touch is slow.
  void touch(float value) const;

 private:
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace attnprof::profilers
