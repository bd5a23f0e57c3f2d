// Time and caches of a GPU, behind the seams that measuring knows already.
#pragma once
#include "operators/kernels/gpu/device.hpp"
#include "profilers/cache_control.hpp"
#include "profilers/clock.hpp"

namespace attnprof::profilers {

/// Reads the host's clock for everything but bodies of work, which it times by events on the device.
class DeviceClock final : public Clock {
 public:
  /// `launches`: that one run of the body starts. Both others are borrowed.
  DeviceClock(operators::gpu::Device& device, Clock& host, std::int64_t launches)
      : device_(device), host_(host), launches_(launches) {}
  std::int64_t now_ns() override { return host_.now_ns(); }
  std::string name() const override { return "cuda_events"; }
  double time_s(const std::function<void()>& body, std::int64_t runs) override;
  /// Events are stamped in steps of half a microsecond.
  std::optional<double> known_resolution_s() const override { return 0.5e-6; }
  bool is_asynchronous() const override { return true; }
  /// What the card said after each timed body, in order.
  const std::vector<operators::gpu::CardState>& states() const { return states_; }

 private:
  operators::gpu::Device& device_;
  Clock& host_;
  std::int64_t launches_;
  std::vector<operators::gpu::CardState> states_;
};

/// Fills the device's second-level cache with other values.
class DeviceCacheEvictor final : public CacheEvictor {
 public:
  explicit DeviceCacheEvictor(operators::gpu::Device& device) : device_(device) {}
  void evict_all() override { device_.flush_cache(); }
  /// Single ranges cannot be evicted on a device: everything is.
  void evict(std::span<const std::byte> /*range*/) override { device_.flush_cache(); }

 private:
  operators::gpu::Device& device_;
};

} // namespace attnprof::profilers
