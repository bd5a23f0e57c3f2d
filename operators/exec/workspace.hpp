#pragma once
#include "operators/core/graph.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace attnprof::operators {

/// Where each tensor lies in one block of memory.
struct WorkspacePlan {
  std::vector<std::int64_t> offsets; ///< bytes, one per tensor; -1 where the tensor takes no memory
  std::int64_t scratch_offset = 0;   ///< shared by all launches, which run one after another
  std::int64_t bytes = 0;
};

/// Where tensors may begin. Staggered: large ones differ modulo the page, because operands at equal offsets in their
/// pages compete for the same cache sets of a processor and stall loads behind stores.
struct Placement {
  std::int64_t alignment = 64; ///< a cache line
  bool staggered = true;
};

/// Places tensors of the given sizes (0: none). Intermediates whose lifetimes do not overlap share memory; all other
/// roles keep theirs to the end.
WorkspacePlan plan_workspace(const Graph& launches, std::span<const std::int64_t> tensor_bytes,
                             std::int64_t scratch_bytes, const Placement& placement = {});

/// Zeroed memory, aligned to huge pages and backed by them where the system gives them.
class Arena {
 public:
  /// Throws Error(kMemory) where the system refuses or has less than this left.
  explicit Arena(std::int64_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {begin_, size_}; }
  /// Writes to every page of one of `shares` parts, so that page faults and placement happen before anything is
  /// measured.
  void touch(int share, int shares) const;

 private:
  std::byte* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* begin_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace attnprof::operators
