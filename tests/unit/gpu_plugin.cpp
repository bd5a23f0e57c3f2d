// Loading the GPU plugin: each reason why there is no GPU in one sentence that says what to do.
#include "operators/exec/gpu_plugin.hpp"
#include "operators/core/error.hpp"
#include "tests/gpu_emulation/device.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

using namespace attnprof::operators;
using namespace attnprof::operators::gpu;

namespace {

constexpr int kCuda13 = 13000;

std::string other_id() {
  return "0.0.1 of another day";
}
PluginIdentity own_identity() {
  static const std::string id = build_id();
  return {kPluginAbi, id.c_str()};
}
PluginIdentity old_identity() {
  return {kPluginAbi - 1, nullptr};
}
PluginIdentity foreign_identity() {
  static const std::string id = other_id();
  return {kPluginAbi, id.c_str()};
}
std::unique_ptr<Device> open_emulated() {
  return std::make_unique<attnprof::tests::emulation::EmulatedDevice>();
}

/// A host on which everything works.
PluginHost working_host() {
  PluginHost host;
  host.program = "/opt/bin";
  host.exists = [](const std::filesystem::path& path) { return path == "/opt/bin/libattnprof_cuda.so"; };
  host.driver = [] { return DriverReport{true, 0, kCuda13, 1}; };
  host.load = [](const std::filesystem::path&) { return LoadedPlugin{"", own_identity, open_emulated}; };
  host.needed_version = kCuda13;
  return host;
}

std::string refusal_of(const PluginHost& host) {
  try {
    static_cast<void>(open_device(host));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUnavailable);
    CHECK_THAT(error.what(),
               Catch::StartsWith("--device cuda is not possible: ") && Catch::Contains("use --device cpu"));
    return error.what();
  }
  return "opened";
}

PluginHost with_driver(const DriverReport& driver) {
  PluginHost host = working_host();
  host.driver = [driver] { return driver; };
  return host;
}
PluginHost with_plugin(const LoadedPlugin& plugin) {
  PluginHost host = working_host();
  host.load = [plugin](const std::filesystem::path&) { return plugin; };
  return host;
}

} // namespace

TEST_CASE("gpu plugin: opens where library, driver and device are there", "[gpu]") {
  CHECK(open_device(working_host())->facts().name == "emulated GPU");
  PluginHost beside = working_host();
  beside.exists = [](const std::filesystem::path& path) {
    return path == "/opt/bin/../lib/attnprof/libattnprof_cuda.so";
  };
  CHECK(refusal_of(beside) == "opened");
}

TEST_CASE("gpu plugin: no library, and where it was looked for", "[gpu]") {
  PluginHost host = working_host();
  host.exists = [](const std::filesystem::path&) { return false; };
  CHECK_THAT(refusal_of(host), Catch::Contains("no CUDA plugin") && Catch::Contains("/opt/bin"));
  host.chosen = "/tmp/mine.so";
  CHECK_THAT(refusal_of(host), Catch::Contains("ATTNPROF_CUDA_PLUGIN names '/tmp/mine.so'"));
}

TEST_CASE("gpu plugin: the driver's reasons, before the plugin is loaded", "[gpu]") {
  bool loaded = false;
  for (const auto& [driver, words] :
       {std::pair{DriverReport{}, "libcuda.so.1 was not found"},
        std::pair{DriverReport{true, 34, 0, 0}, "the toolkit's stub"},
        std::pair{DriverReport{true, 0, 12040, 1}, "supports CUDA 12.4 and this build needs 13.0"},
        std::pair{DriverReport{true, 100, kCuda13, 0}, "sees no device"},
        std::pair{DriverReport{true, 0, kCuda13, 0}, "sees no device"}, std::pair{DriverReport{true, 803, 0, 0}, "803"},
        std::pair{DriverReport{true, 999, 0, 0}, "CUDA error 999"}}) {
    PluginHost host = with_driver(driver);
    host.load = [&](const std::filesystem::path&) {
      loaded = true;
      return LoadedPlugin{};
    };
    CHECK_THAT(refusal_of(host), Catch::Contains(words));
  }
  CHECK_FALSE(loaded);
}

TEST_CASE("gpu plugin: a plugin that was chosen decides about the driver itself", "[gpu]") {
  PluginHost host = with_driver({});
  host.chosen = "/opt/bin/libattnprof_cuda.so";
  CHECK(refusal_of(host) == "opened");
}

TEST_CASE("gpu plugin: a missing dependency, another interface, another build, no plugin at all", "[gpu]") {
  const std::string missing = "libcublasLt.so.13: cannot open shared object file: No such file or directory";
  CHECK_THAT(refusal_of(with_plugin({missing, nullptr, nullptr})), Catch::Contains(missing));
  CHECK_THAT(refusal_of(with_plugin({"", old_identity, open_emulated})),
             Catch::Contains(fmt::format("has interface {} and this program {}", kPluginAbi - 1, kPluginAbi)));
  CHECK_THAT(refusal_of(with_plugin({"", foreign_identity, open_emulated})),
             Catch::Contains("of another build") && Catch::Contains(other_id()) && Catch::Contains(build_id()));
  CHECK_THAT(refusal_of(with_plugin({"", nullptr, nullptr})), Catch::Contains("is no plugin of attnprof"));
}

TEST_CASE("gpu plugin: the dynamic linker's own words arrive", "[gpu]") {
  CHECK_THAT(load_plugin("/nowhere/libattnprof_cuda.so").error, Catch::Contains("/nowhere/libattnprof_cuda.so"));
}
