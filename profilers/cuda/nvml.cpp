#include "profilers/cuda/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace attnprof::profilers::cuda {
namespace {

// From the documented, stable C interface: the toolkit does not always bring its header.
constexpr unsigned kClockSm = 1;
constexpr unsigned kClockMemory = 2;
constexpr unsigned kTemperatureGpu = 0;

template <class F>
F symbol(void* library, const char* name) {
  return reinterpret_cast<F>(::dlsym(library, name));
}

} // namespace

std::vector<std::string> throttle_reasons(unsigned long long mask) {
  struct Reason {
    unsigned long long bit;
    const char* name;
  };
  constexpr Reason kReasons[] = {{0x4, "power cap"},         {0x8, "hardware slowdown"}, {0x20, "software thermal"},
                                 {0x40, "hardware thermal"}, {0x80, "power brake"},      {0x10, "sync boost"}};
  std::vector<std::string> out;
  for (const Reason& reason : kReasons) {
    if ((mask & reason.bit) != 0) {
      out.emplace_back(reason.name);
    }
  }
  return out;
}

Nvml::Nvml(const std::string& bus_id) {
  library_ = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    refusal_ = "libnvidia-ml.so.1 was not found";
    return;
  }
  const auto init = symbol<int (*)()>(library_, "nvmlInit_v2");
  const auto by_bus = symbol<int (*)(const char*, void**)>(library_, "nvmlDeviceGetHandleByPciBusId_v2");
  if (init == nullptr || by_bus == nullptr) {
    refusal_ = "libnvidia-ml.so.1 lacks functions that it should have";
    return;
  }
  int code = init();
  if (code == 0) {
    code = by_bus(bus_id.c_str(), &device_);
  }
  if (code != 0) {
    device_ = nullptr;
    refusal_ = fmt::format("NVML refused with code {}", code);
  }
}

operators::gpu::CardState Nvml::read() const {
  operators::gpu::CardState out;
  if (device_ == nullptr) {
    return out;
  }
  if (const auto clock = symbol<int (*)(void*, unsigned, unsigned*)>(library_, "nvmlDeviceGetClockInfo")) {
    unsigned mhz = 0;
    if (clock(device_, kClockSm, &mhz) == 0) {
      out.sm_clock_hz = 1e6 * mhz;
    }
    if (clock(device_, kClockMemory, &mhz) == 0) {
      out.memory_clock_hz = 1e6 * mhz;
    }
  }
  if (const auto temperature = symbol<int (*)(void*, unsigned, unsigned*)>(library_, "nvmlDeviceGetTemperature")) {
    unsigned celsius = 0;
    if (temperature(device_, kTemperatureGpu, &celsius) == 0) {
      out.temperature_c = celsius;
    }
  }
  if (const auto power = symbol<int (*)(void*, unsigned*)>(library_, "nvmlDeviceGetPowerUsage")) {
    unsigned milliwatts = 0;
    if (power(device_, &milliwatts) == 0) {
      out.power_w = 1e-3 * milliwatts;
    }
  }
  auto reasons = symbol<int (*)(void*, unsigned long long*)>(library_, "nvmlDeviceGetCurrentClocksEventReasons");
  if (reasons == nullptr) { // the name before driver 535
    reasons = symbol<int (*)(void*, unsigned long long*)>(library_, "nvmlDeviceGetCurrentClocksThrottleReasons");
  }
  unsigned long long mask = 0;
  if (reasons != nullptr && reasons(device_, &mask) == 0) {
    out.throttle_reasons = throttle_reasons(mask);
  }
  return out;
}

} // namespace attnprof::profilers::cuda
