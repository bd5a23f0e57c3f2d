// What lies in the caches when a sample begins.
#pragma once

#include "profilers/mapped_buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace attnprof::profilers {

enum class CachePolicy {
  kWarm,        ///< whatever the previous iteration left
  kCold,        ///< nothing of the workload
  kColdWeights, ///< everything but the weights
  kColdKv,      ///< everything but the key/value cache, as when decoding after other requests
};
std::string_view name_of(CachePolicy policy);
/// Absent for a name that is not warm, cold, cold-weights or cold-kv.
std::optional<CachePolicy> cache_policy_from(std::string_view name);

class CacheEvictor {
 public:
  virtual ~CacheEvictor() = default;
  /// Evicts everything from all caches of the processors in use.
  virtual void evict_all() = 0;
  /// Evicts the lines of one memory range.
  virtual void evict(std::span<const std::byte> range) = 0;
};

/// Evicts ranges line by line (x86) and everything by reading at least twice the last-level cache (BUG-143).
class SystemCacheEvictor final : public CacheEvictor {
 public:
  /// `last_level_bytes`: total over the machine; `private_bytes`: of one core; `threads`: that run the workload, since
  /// only a core itself can push lines out of its private caches.
  SystemCacheEvictor(std::size_t last_level_bytes, std::size_t private_bytes, int threads);
  void evict_all() override;
  void evict(std::span<const std::byte> range) override;

  std::size_t sweep_bytes() const { return sweep_bytes_; }

 private:
  std::size_t sweep_bytes_;
  int threads_;
  MappedBuffer sweep_;
};

/// The policy of a measurement and what it needs: the ranges named by cold-weights and cold-kv, and an evictor for
/// every policy but warm. The evictor is borrowed.
struct CacheControl {
  CachePolicy policy = CachePolicy::kWarm;
  std::vector<std::span<const std::byte>> weights;
  std::vector<std::span<const std::byte>> kv_cache;
  CacheEvictor* evictor = nullptr;

  bool is_cold() const { return policy != CachePolicy::kWarm; }
  /// Brings the caches into the state that the policy names; nothing for warm.
  void prepare() const;
};

} // namespace attnprof::profilers
