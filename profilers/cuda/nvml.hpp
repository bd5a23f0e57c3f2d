#pragma once
#include "operators/kernels/gpu/device.hpp"

#include <string>

namespace attnprof::profilers::cuda {

/// NVIDIA's management library, where it can be loaded: reads clocks, temperature and throttle reasons, changes
/// nothing.
class Nvml {
 public:
  /// `bus_id`: the device's PCI address as CUDA writes it.
  explicit Nvml(const std::string& bus_id);
  /// Absent values where the library is missing or does not say.
  [[nodiscard]] operators::gpu::CardState read() const;
  /// Why nothing can be read; empty where it can.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  std::string refusal_;
  void* library_ = nullptr;
  void* device_ = nullptr;
};

/// Names of the reasons in NVML's bit mask that lower the clock; being idle and a clock set by the user are not among
/// them.
std::vector<std::string> throttle_reasons(unsigned long long mask);

} // namespace attnprof::profilers::cuda
