#include "operators/exec/gpu_plugin.hpp"

#include "attnprof_version.hpp"
#include "operators/core/error.hpp"

#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>

namespace attnprof::operators::gpu {
namespace {

// Codes of CUresult.
constexpr int kNoDevice = 100;
constexpr int kStubLibrary = 34;
constexpr int kMismatch = 803; ///< the kernel's driver is of another version than the library

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(ErrorKind::kUnavailable, fmt::format("--device cuda is not possible: {}; or use --device cpu", reason));
}

std::filesystem::path find_plugin(const PluginHost& host) {
  if (host.chosen) {
    if (!host.exists(*host.chosen)) {
      refuse(fmt::format("ATTNPROF_CUDA_PLUGIN names '{}', which does not exist: correct or unset it", *host.chosen));
    }
    return *host.chosen;
  }
  const std::array<std::filesystem::path, 2> places = {host.program / kPluginFile,
                                                       host.program / ".." / "lib" / "attnprof" / kPluginFile};
  for (const std::filesystem::path& place : places) {
    if (host.exists(place)) {
      return place;
    }
  }
  refuse(fmt::format("there is no CUDA plugin, {} is neither in {} nor in ../lib/attnprof: build where CUDA 13 is "
                     "installed (cmake -DATTNPROF_CUDA=ON says what is missing)",
                     kPluginFile, host.program.string()));
}

} // namespace

DriverReport probe_driver() {
  DriverReport out;
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) {
    return out;
  }
  // Left open: the driver starts threads of its own, which must not lose their code.
  out.has_library = true;
  const auto initialise = reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"));
  const auto version_of = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuDriverGetVersion"));
  const auto count_devices = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuDeviceGetCount"));
  if (initialise != nullptr) {
    out.init_error = initialise(0);
  }
  if (version_of != nullptr) {
    version_of(&out.version);
  }
  if (count_devices != nullptr && out.init_error == 0) {
    count_devices(&out.devices);
  }
  return out;
}

std::optional<std::string> driver_refusal(const DriverReport& driver, int needed_version) {
  if (!driver.has_library) {
    return "there is no NVIDIA driver, libcuda.so.1 was not found: install it, or give the container the GPU "
           "(--gpus all)";
  }
  const int error = driver.init_error.value_or(0);
  if (error == kStubLibrary) {
    return "libcuda.so.1 is the toolkit's stub for linking and no driver: take its stubs folder out of LD_LIBRARY_PATH";
  }
  if (error == kNoDevice || (error == 0 && driver.devices == 0)) {
    return "the NVIDIA driver is installed and sees no device: check nvidia-smi, CUDA_VISIBLE_DEVICES and the "
           "container's GPU access";
  }
  if (error == kMismatch) {
    return "the NVIDIA driver's library and its kernel module are of different versions (CUDA error 803): reboot, or "
           "install both from one package";
  }
  if (error != 0) {
    return fmt::format("the NVIDIA driver failed to start with CUDA error {}: check nvidia-smi and the kernel log",
                       error);
  }
  if (driver.version > 0 && driver.version < needed_version) {
    return fmt::format("the NVIDIA driver is too old, it supports CUDA {} and this build needs {}: update the driver",
                       version_text(driver.version), version_text(needed_version));
  }
  return std::nullopt;
}

std::string build_id() {
  return fmt::format("{} {} {} {}", kVersion, kCommit, kGpuSeam, kCompiler);
}

LoadedPlugin load_plugin(const std::filesystem::path& file) {
  LoadedPlugin out;
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = ::dlerror();
    out.error = error == nullptr ? "no reason was given" : error;
    return out;
  }
  // Never closed: CUDA's libraries do not survive it.
  out.identity = reinterpret_cast<PluginIdentity (*)()>(::dlsym(library, "attnprof_gpu_identity"));
  out.open = reinterpret_cast<OpenDevice>(::dlsym(library, "attnprof_gpu_open"));
  return out;
}

PluginHost system_plugin_host() {
  PluginHost out;
  if (const char* chosen = std::getenv("ATTNPROF_CUDA_PLUGIN"); chosen != nullptr && *chosen != '\0') {
    out.chosen = chosen;
  }
  std::error_code ignored;
  out.program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  out.exists = [](const std::filesystem::path& path) {
    std::error_code none;
    return std::filesystem::exists(path, none);
  };
  out.driver = probe_driver;
  out.load = load_plugin;
  out.needed_version = kCudaVersion;
  return out;
}

std::unique_ptr<Device> open_device(const PluginHost& host) {
  const std::filesystem::path file = find_plugin(host);
  if (!host.chosen) {
    if (const std::optional<std::string> reason = driver_refusal(host.driver(), host.needed_version)) {
      refuse(*reason);
    }
  }
  const LoadedPlugin plugin = host.load(file);
  if (!plugin.error.empty()) {
    refuse(fmt::format("the plugin {} cannot be loaded: {}; install CUDA 13's libraries or put their folder on "
                       "LD_LIBRARY_PATH",
                       file.string(), plugin.error));
  }
  if (plugin.identity == nullptr || plugin.open == nullptr) {
    refuse(fmt::format("{} is no plugin of attnprof: build it again together with this program", file.string()));
  }
  const PluginIdentity identity = plugin.identity();
  if (identity.abi != kPluginAbi) {
    refuse(fmt::format("the plugin {} has interface {} and this program {}: build both together", file.string(),
                       identity.abi, kPluginAbi));
  }
  const std::string theirs = identity.build_id == nullptr ? "" : identity.build_id;
  if (theirs != build_id()) {
    refuse(fmt::format("the plugin {} is of another build ({}, this program is {}): build both together", file.string(),
                       theirs, build_id()));
  }
  return plugin.open();
}

} // namespace attnprof::operators::gpu
