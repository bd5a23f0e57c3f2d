#pragma once
#include "operators/kernels/gpu/device.hpp"

#include <map>

namespace attnprof::tests::emulation {

/// A GPU whose memory is the host's and whose kernels are emulated. Counts what it is asked for, and can be told to
/// fail as a driver does after an illegal access.
class EmulatedDevice : public operators::gpu::Device {
 public:
  EmulatedDevice();
  ~EmulatedDevice() override;

  operators::gpu::DeviceFacts described;
  std::int64_t memory_left = std::int64_t{1} << 30;
  std::int64_t starts = 0;                ///< of kernels
  std::optional<std::int64_t> fails_at;   ///< the start that breaks the context
  std::int64_t workspace_asked = 1 << 20; ///< what products want

  const operators::gpu::DeviceFacts& facts() const override { return described; }
  std::byte* allocate(std::int64_t bytes) override;
  void release(std::byte* memory) override;
  std::int64_t free_bytes() override { return memory_left; }
  void write(std::byte* to, std::span<const std::byte> from) override;
  void read(std::span<std::byte> to, const std::byte* from) override;
  std::int64_t workspace_bytes(const operators::gpu::LaunchArgs& args) override;
  std::unique_ptr<operators::gpu::Kernel> prepare(const operators::gpu::LaunchArgs& args) override;
  void synchronize() override { require_context(); }
  double time_s(const std::function<void()>& body, bool queued) override;
  void flush_cache() override {}
  operators::gpu::LevelReport level() override;
  operators::gpu::ActivityReport trace(std::size_t count, const std::function<void(std::size_t)>& run_launch) override;
  operators::gpu::CounterReport count(const std::vector<std::string>& metrics, std::size_t count,
                                      const std::function<void(std::size_t)>& run_launch) override;
  std::vector<std::string> metric_names() override { return {}; }
  operators::gpu::CardState card_state() override { return {}; }
  operators::gpu::DeviceCeilings measure_ceilings() override { return {}; }

  /// One start of a kernel; throws Error(kDeviceLost) at the planned one and ever after.
  void start(const operators::gpu::LaunchArgs& args);

 protected:
  void require_context() const;

 private:
  std::map<std::byte*, std::int64_t> blocks_;
  bool lost_ = false;
};

} // namespace attnprof::tests::emulation
