#include "operators/exec/workspace.hpp"

#include "operators/core/cost.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <sys/mman.h>

namespace attnprof::operators {
namespace {

constexpr std::int64_t kCacheLine = 64;
constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kHugePage = std::int64_t{2} << 20;
/// What a first-level TLB covers with small pages: 64 entries.
constexpr std::int64_t kWorthHugePages = 64 * kPage;
constexpr std::int64_t kLarge = 2 * kPage;

/// First fitting start at or after `from`: large tensors number `index` starts at its own offset within a page.
std::int64_t aligned_start(std::int64_t from, std::int64_t bytes, std::int64_t index, const Placement& placement) {
  const std::int64_t start = round_up(from, placement.alignment);
  if (bytes < kLarge || !placement.staggered) {
    return start;
  }
  const std::int64_t wanted = index * 9 * kCacheLine % kPage; // nine and 64 lines share no divisor: all offsets occur
  return start + (wanted - start % kPage + kPage) % kPage;
}

struct Placed {
  std::int64_t begin, end;
  Lifetime life;
};

/// Lowest start that overlaps no tensor alive at the same time. `placed` is sorted by begin.
std::int64_t lowest_gap(const std::vector<Placed>& placed, const Lifetime& life, std::int64_t bytes, std::int64_t index,
                        const Placement& placement) {
  std::int64_t start = aligned_start(0, bytes, index, placement);
  for (const Placed& other : placed) {
    if (other.life.last < life.first || life.last < other.life.first || other.end <= start) {
      continue;
    }
    if (other.begin >= start + bytes) {
      break;
    }
    start = aligned_start(other.end, bytes, index, placement);
  }
  return start;
}

/// Bytes that the system can still give, where it says so.
std::optional<std::int64_t> available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::int64_t kibibytes = 0;
  std::string unit;
  while (file >> key >> kibibytes) {
    if (key == "MemAvailable:") {
      return kibibytes * 1024;
    }
    std::getline(file, unit);
  }
  return std::nullopt;
}

} // namespace

WorkspacePlan plan_workspace(const Graph& launches, std::span<const std::int64_t> tensor_bytes,
                             std::int64_t scratch_bytes, const Placement& placement) {
  const std::size_t count = launches.tensors.size();
  WorkspacePlan plan;
  plan.offsets.assign(count, -1);
  std::vector<std::size_t> temporary;
  std::int64_t used = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (tensor_bytes[i] <= 0) {
      continue;
    }
    if (launches.tensors[i].role == TensorRole::kIntermediate) {
      temporary.push_back(i);
      continue;
    }
    plan.offsets[i] = aligned_start(used, tensor_bytes[i], static_cast<std::int64_t>(i), placement);
    used = (Count(plan.offsets[i]) + tensor_bytes[i]).value();
  }
  // Largest first: the small ones then fill the gaps.
  const std::vector<Lifetime> lives = lifetimes(launches);
  std::stable_sort(temporary.begin(), temporary.end(),
                   [&](std::size_t a, std::size_t b) { return tensor_bytes[a] > tensor_bytes[b]; });
  const std::int64_t base = round_up(used, kPage);
  std::vector<Placed> placed;
  std::int64_t end = base;
  for (const std::size_t i : temporary) {
    const std::int64_t start = lowest_gap(placed, lives[i], tensor_bytes[i], static_cast<std::int64_t>(i), placement);
    const Placed entry{start, (Count(start) + tensor_bytes[i]).value(), lives[i]};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), entry,
                                   [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
                  entry);
    plan.offsets[i] = base + start;
    end = std::max(end, (Count(base) + entry.end).value());
  }
  plan.scratch_offset = aligned_start(end, scratch_bytes, static_cast<std::int64_t>(count), placement);
  plan.bytes = (Count(plan.scratch_offset) + scratch_bytes).value();
  return plan;
}

Arena::Arena(std::int64_t bytes) : size_(static_cast<std::size_t>(bytes)) {
  if (bytes == 0) {
    return;
  }
  const std::optional<std::int64_t> available = available_bytes();
  if (available && *available < bytes) {
    throw Error(ErrorKind::kMemory,
                fmt::format("needs {} bytes and the system has {} left: choose smaller sizes", bytes, *available));
  }
  const bool huge = bytes >= kWorthHugePages;
  const auto whole = static_cast<std::size_t>(round_up(bytes, huge ? kHugePage : kPage));
  mapped_ = whole + static_cast<std::size_t>(huge ? kHugePage : 0);
  void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorKind::kMemory, fmt::format("the system refused {} bytes: choose smaller sizes", bytes));
  }
  mapping_ = static_cast<std::byte*>(memory);
  begin_ = mapping_;
  if (huge) {
    const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
    begin_ += (static_cast<std::uintptr_t>(kHugePage) - address % kHugePage) % kHugePage;
    // Whole pages: what is left of the last one would lie in small ones. A refusal costs speed only.
    (void)madvise(begin_, whole, MADV_HUGEPAGE);
  }
}

Arena::~Arena() {
  if (mapping_ != nullptr) {
    munmap(mapping_, mapped_);
  }
}

void Arena::touch(int share, int shares) const {
  // Whole huge pages per share: the first write to one places all of it.
  const auto pages = ceil_div(static_cast<std::int64_t>(size_), kHugePage);
  const std::int64_t begin = pages * share / shares * kHugePage;
  const std::int64_t end = std::min(pages * (share + 1) / shares * kHugePage, static_cast<std::int64_t>(size_));
  for (std::int64_t at = begin; at < end; at += kPage) {
    *const_cast<volatile std::byte*>(begin_ + at) = std::byte{0};
  }
}

} // namespace attnprof::operators
