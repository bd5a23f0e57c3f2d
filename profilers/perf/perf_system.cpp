#include "profilers/perf/perf_system.hpp"

#include "profilers/perf/memory_controllers.hpp"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#ifdef ATTNPROF_WITH_PFM
#include <perfmon/pfmlib_perf_event.h>
#endif

namespace attnprof::profilers {

int LinuxPerfSystem::open(const OpenRequest& request) {
  perf_event_attr event{};
  event.size = sizeof(event);
  event.type = request.code.type;
  event.config = request.code.config;
  event.config1 = request.code.config1;
  event.config2 = request.code.config2;
  event.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  if (request.group < 0)
    event.disabled = 1; // members follow their leader
  const bool is_thread = request.processor < 0;
  if (is_thread) { // a memory controller cannot tell who asked
    event.exclude_kernel = request.exclude_kernel ? 1 : 0;
    event.exclude_hv = 1;
  }
  const auto file = static_cast<int>(::syscall(SYS_perf_event_open, &event, is_thread ? request.thread : -1,
                                               request.processor, request.group, PERF_FLAG_FD_CLOEXEC));
  return file < 0 ? -errno : file;
}

int LinuxPerfSystem::start(int leader) {
  return ::ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) < 0 ? -errno : 0;
}

int LinuxPerfSystem::stop(int leader) {
  return ::ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP) < 0 ? -errno : 0;
}

std::int64_t LinuxPerfSystem::read(int file, std::span<std::byte> into) {
  const ssize_t size = ::read(file, into.data(), into.size());
  return size < 0 ? -errno : size;
}

void LinuxPerfSystem::close(int file) {
  ::close(file);
}

std::vector<int> LinuxPerfSystem::threads() {
  std::vector<int> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    const std::string name = entry.path().filename().string();
    int id = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), id).ec == std::errc())
      out.push_back(id);
  }
  return out;
}

std::vector<ControllerEvent> PerfSystem::memory_controllers() {
  return {};
}

std::vector<ControllerEvent> LinuxPerfSystem::memory_controllers() {
  return memory_controller_events("/");
}

int LinuxPerfSystem::scalable_vector_bits() {
#if defined(__aarch64__) && defined(PR_SVE_GET_VL)
  const int found = ::prctl(PR_SVE_GET_VL);
  return found < 0 ? 0 : (found & PR_SVE_VL_LEN_MASK) * 8;
#else
  return 0;
#endif
}

#ifdef ATTNPROF_WITH_PFM

std::optional<EncodedEvent> LinuxPerfSystem::encode(const std::string& name) {
  if (!names_ready_)
    names_ready_ = pfm_initialize() == PFM_SUCCESS;
  if (!*names_ready_)
    return std::nullopt;
  perf_event_attr event{};
  event.size = sizeof(event);
  char* full_name = nullptr;
  pfm_perf_encode_arg_t request{};
  request.attr = &event;
  request.fstr = &full_name;
  request.size = sizeof(request);
  const int result = pfm_get_os_event_encoding(name.c_str(), PFM_PLM3, PFM_OS_PERF_EVENT, &request);
  EncodedEvent out{{event.type, event.config, event.config1, event.config2}, full_name != nullptr ? full_name : name};
  std::free(full_name);
  // The privilege levels at the end of the name are set by OpenRequest.
  out.full_name = out.full_name.substr(0, out.full_name.find(":e="));
  return result == PFM_SUCCESS ? std::optional(out) : std::nullopt;
}

#else

std::optional<EncodedEvent> LinuxPerfSystem::encode(const std::string& /*name*/) {
  return std::nullopt;
}

#endif

} // namespace attnprof::profilers
