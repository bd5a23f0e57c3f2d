#include "tests/gpu_emulation/device.hpp"

#include "operators/core/error.hpp"
#include "tests/gpu_emulation/kernels.hpp"

#include <cstring>
#include <new>

namespace attnprof::tests::emulation {

using operators::Error;
using operators::ErrorKind;
namespace gpu = operators::gpu;

namespace {

constexpr std::align_val_t kAlignment{256};

class EmulatedKernel final : public gpu::Kernel {
 public:
  EmulatedKernel(EmulatedDevice& device, const gpu::LaunchArgs& args) : device_(device), args_(args) {}
  void start() override { device_.start(args_); }
  [[nodiscard]] std::string impl() const override { return {}; }

 private:
  EmulatedDevice& device_;
  gpu::LaunchArgs args_;
};

} // namespace

EmulatedDevice::EmulatedDevice() {
  described.name = "emulated GPU";
  described.chip = "GH100";
  described.compute_major = 9;
  described.multiprocessors = 4;
  described.memory_bytes = memory_left;
  described.l2_bytes = 1 << 20;
  described.shared_bytes = 227 * 1024;
}

EmulatedDevice::~EmulatedDevice() {
  for (const auto& [memory, bytes] : blocks_) {
    ::operator delete(memory, kAlignment);
  }
}

void EmulatedDevice::require_context() const {
  if (lost_) {
    throw Error(ErrorKind::kDeviceLost,
                "device_lost: an illegal memory access in an earlier launch took the device from "
                "this process; run the sweep with --isolate");
  }
}

std::byte* EmulatedDevice::allocate(std::int64_t bytes) {
  require_context();
  auto* memory = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), kAlignment));
  std::memset(memory, 0xFF, static_cast<std::size_t>(bytes)); // NaN in every dtype: nothing may be read unwritten
  blocks_[memory] = bytes;
  memory_left -= bytes;
  return memory;
}

void EmulatedDevice::release(std::byte* memory) {
  memory_left += blocks_.at(memory);
  blocks_.erase(memory);
  ::operator delete(memory, kAlignment);
}

void EmulatedDevice::write(std::byte* to, std::span<const std::byte> from) {
  require_context();
  std::memcpy(to, from.data(), from.size());
}

void EmulatedDevice::read(std::span<std::byte> to, const std::byte* from) {
  require_context();
  std::memcpy(to.data(), from, to.size());
}

std::int64_t EmulatedDevice::workspace_bytes(const gpu::LaunchArgs& args) {
  return std::holds_alternative<gpu::ProductArgs>(args) ? workspace_asked : 0;
}

std::unique_ptr<gpu::Kernel> EmulatedDevice::prepare(const gpu::LaunchArgs& args) {
  require_context();
  return std::make_unique<EmulatedKernel>(*this, args);
}

void EmulatedDevice::start(const gpu::LaunchArgs& args) {
  require_context();
  if (fails_at && starts++ >= *fails_at) {
    lost_ = true;
    throw Error(ErrorKind::kInternal, "the launch failed with cudaErrorIllegalAddress (700)");
  }
  run_own_kernel(args);
}

double EmulatedDevice::time_s(const std::function<void()>& body, bool /*queued*/) {
  require_context();
  body();
  return 1e-3;
}

gpu::LevelReport EmulatedDevice::level() {
  return {gpu::Level::kEvents, "an emulation has no profiler"};
}

gpu::ActivityReport EmulatedDevice::trace(std::size_t /*count*/,
                                          const std::function<void(std::size_t)>& /*run_launch*/) {
  return {{}, 0, 0, "an emulation has no profiler"};
}

gpu::CounterReport EmulatedDevice::count(const std::vector<std::string>& /*metrics*/, std::size_t /*count*/,
                                         const std::function<void(std::size_t)>& /*run_launch*/) {
  return {{}, 0, "an emulation has no profiler"};
}

} // namespace attnprof::tests::emulation
