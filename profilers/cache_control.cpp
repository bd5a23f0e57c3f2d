#include "profilers/cache_control.hpp"

#include "operators/core/error.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace attnprof::profilers {
namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::array kPolicies{CachePolicy::kWarm, CachePolicy::kCold, CachePolicy::kColdWeights, CachePolicy::kColdKv};

} // namespace

std::string_view name_of(CachePolicy policy) {
  switch (policy) {
  case CachePolicy::kWarm: return "warm";
  case CachePolicy::kCold: return "cold";
  case CachePolicy::kColdWeights: return "cold-weights";
  case CachePolicy::kColdKv: return "cold-kv";
  }
  return "";
}

std::optional<CachePolicy> cache_policy_from(std::string_view name) {
  for (const CachePolicy policy : kPolicies)
    if (name_of(policy) == name)
      return policy;
  return std::nullopt;
}

SystemCacheEvictor::SystemCacheEvictor(std::size_t last_level_bytes, std::size_t private_bytes, int threads)
    : sweep_bytes_(0), threads_(std::max(1, threads)) {
  // Each thread reads an equal share; a share has to displace both its part of the last level and its private caches.
  constexpr std::size_t kFactor = 2;
  constexpr std::size_t kLeastShare = std::size_t{8} << 20U;
  const auto count = static_cast<std::size_t>(threads_);
  const std::size_t share = std::max({kFactor * last_level_bytes / count, kFactor * private_bytes, kLeastShare});
  sweep_bytes_ = count * (share / kLineBytes + 1) * kLineBytes;
}

void SystemCacheEvictor::evict_all() {
  if (sweep_.empty()) {
    sweep_ = MappedBuffer(sweep_bytes_);
    sweep_.touch(1);
  }
  const std::byte* sweep = sweep_.bytes();
  const auto lines = static_cast<std::ptrdiff_t>(sweep_bytes_ / kLineBytes);
  unsigned sum = 0;
  // The same worker threads as the kernels', hence the same cores and their private caches.
#pragma omp parallel for schedule(static) num_threads(threads_) reduction(+ : sum)
  for (std::ptrdiff_t line = 0; line < lines; ++line)
    sum += static_cast<unsigned>(sweep[static_cast<std::size_t>(line) * kLineBytes]);
  asm volatile("" : : "r"(sum));
}

void SystemCacheEvictor::evict(std::span<const std::byte> range) {
#if defined(__x86_64__)
  if (range.empty())
    return;
  const auto begin = reinterpret_cast<std::uintptr_t>(range.data());
  const std::byte* line = range.data() - begin % kLineBytes;
  _mm_mfence();
  for (; line < range.data() + range.size(); line += kLineBytes)
    _mm_clflush(line);
  _mm_mfence();
#else
  if (!range.empty())
    evict_all();
#endif
}

void CacheControl::prepare() const {
  if (!is_cold())
    return;
  if (evictor == nullptr)
    throw operators::Error(operators::ErrorKind::kInternal,
                           fmt::format("cache policy {} was asked for without an evictor", name_of(policy)));
  if (policy == CachePolicy::kCold) {
    evictor->evict_all();
    return;
  }
  for (const auto& range : policy == CachePolicy::kColdWeights ? weights : kv_cache)
    evictor->evict(range);
}

} // namespace attnprof::profilers
