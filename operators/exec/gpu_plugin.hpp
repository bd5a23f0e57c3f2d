#pragma once
#include "operators/kernels/gpu/device.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

// Finding, checking and loading the library that drives a GPU; everything outside the process is a seam.
namespace attnprof::operators::gpu {

/// What the NVIDIA driver says when asked directly, without any library of CUDA.
struct DriverReport {
  bool has_library = false;      ///< libcuda.so.1
  std::optional<int> init_error; ///< CUresult of cuInit; absent without the library
  int version = 0;               ///< newest CUDA that it supports, 13000 for 13.0; 0: it did not say
  int devices = 0;
};
DriverReport probe_driver();

/// Why no GPU can be used, as a sentence; absent where one can. `needed_version`: the oldest CUDA of the driver that
/// will do, 0 for any.
std::optional<std::string> driver_refusal(const DriverReport& driver, int needed_version);

/// Version, commit, compiler and interface: a plugin with another id is refused.
std::string build_id();

/// A library that was loaded, or why it was not.
struct LoadedPlugin {
  std::string error; ///< of the dynamic linker; empty where it was loaded
  PluginIdentity (*identity)() = nullptr;
  OpenDevice open = nullptr;
};
LoadedPlugin load_plugin(const std::filesystem::path& file);

struct PluginHost {
  std::optional<std::string> chosen; ///< $ATTNPROF_CUDA_PLUGIN: this library, whatever the driver says
  std::filesystem::path program;     ///< folder of the program
  std::function<bool(const std::filesystem::path&)> exists;
  std::function<DriverReport()> driver;
  std::function<LoadedPlugin(const std::filesystem::path&)> load;
  int needed_version = 0;
};
PluginHost system_plugin_host();

inline constexpr std::string_view kPluginFile = "libattnprof_cuda.so";

/// Opens the first GPU. Cheap reasons come first: without a driver the plugin, half a gigabyte with its libraries, is
/// not even loaded. Throws Error(kUnavailable) with the reason and the way out in a sentence.
std::unique_ptr<Device> open_device(const PluginHost& host);

} // namespace attnprof::operators::gpu
