// The real side of the doctor's seam: system calls, the dynamic linker and the search path.
#include "operators/exec/gpu_plugin.hpp"
#include "profilers/probes.hpp"

#include <cerrno>
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <sstream>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace attnprof::profilers {
namespace {

CounterTrial try_counter() {
  perf_event_attr event{};
  event.size = sizeof(event);
  event.type = PERF_TYPE_HARDWARE;
  event.config = PERF_COUNT_HW_INSTRUCTIONS;
  event.disabled = 1;
  event.exclude_kernel = 1; // what paranoid level 2 allows
  event.exclude_hv = 1;
  const auto file = static_cast<int>(::syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (file < 0)
    return {errno, std::nullopt};
  CounterTrial trial;
  ::ioctl(file, PERF_EVENT_IOC_ENABLE, 0);
  for (int i = 0; i < 10'000; ++i)
    asm volatile("" : : : "memory");
  ::ioctl(file, PERF_EVENT_IOC_DISABLE, 0);
  std::uint64_t counted = 0;
  if (::read(file, &counted, sizeof(counted)) == static_cast<ssize_t>(sizeof(counted)))
    trial.counted = counted;
  ::close(file);
  return trial;
}

CudaTrial try_cuda() {
  const operators::gpu::DriverReport driver = operators::gpu::probe_driver();
  return {driver.has_library, driver.init_error, driver.devices};
}

bool has_library(const std::string& name) {
  // Left open as well: CUPTI allocates as it is loaded and frees nothing when it is unloaded.
  return ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr;
}

bool has_program(const std::string& name) {
  std::istringstream folders(environment_variable("PATH").value_or("/usr/bin:/bin"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + name).c_str(), X_OK) == 0)
      return true;
  return false;
}

} // namespace

DoctorHost system_doctor_host() {
  return {"/", try_counter, try_cuda, has_library, has_program, environment_variable};
}

} // namespace attnprof::profilers
