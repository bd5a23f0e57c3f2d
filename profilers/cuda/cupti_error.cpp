#include "profilers/cuda/cupti_error.hpp"

#include <fmt/format.h>

namespace attnprof::profilers::cuda {

std::string refusal_of(const char* call, CUptiResult code) {
  switch (code) {
  case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    return "the driver gives GPU counters to administrators only (ERR_NVGPUCTRPERM): run as root, add CAP_SYS_ADMIN to "
           "the container, or load the driver with NVreg_RestrictProfilingToAdminUsers=0";
  case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    return "another profiler or debugger is attached to this process: run without it";
  case CUPTI_ERROR_HARDWARE_BUSY:
    return "another user of the counters has the hardware, such as DCGM: stop it for the measurement";
  case CUPTI_ERROR_NOT_INITIALIZED:
    return fmt::format("{} found CUPTI not initialised: its version and the driver's do not fit, or "
                       "libnvperf_host.so was not found",
                       call);
  default: break;
  }
  const char* text = nullptr;
  cuptiGetResultString(code, &text);
  return fmt::format("{} refused with {} ({})", call, text == nullptr ? "an unknown code" : text,
                     static_cast<int>(code));
}

} // namespace attnprof::profilers::cuda
