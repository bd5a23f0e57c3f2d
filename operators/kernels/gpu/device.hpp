#pragma once
#include "operators/kernels/gpu/args.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

// The seam between this program and a GPU: no header of CUDA is needed on this side. Behind it stands the CUDA plugin,
// or in tests an emulation on the host, or one that replays recorded figures.
namespace attnprof::operators::gpu {

/// Raised with each change of this file or of args.hpp that an older plugin would misread.
inline constexpr int kPluginAbi = 2;

struct DeviceFacts {
  std::string name; ///< "NVIDIA H200"
  std::string chip; ///< "GH100", as CUPTI names it; empty where unknown
  int compute_major = 0, compute_minor = 0;
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t shared_bytes = 48 * 1024; ///< that one block may ask for
  int driver_version = 0;                ///< 13000 for 13.0, as the driver API counts
  int runtime_version = 0;
};

/// How much of a launch can be seen on this host, and why no more.
enum class Level { kNone, kEvents, kActivity, kCounters };
constexpr std::string_view name_of(Level level) {
  switch (level) {
  case Level::kNone: return "none";
  case Level::kEvents: return "events";
  case Level::kActivity: return "activity";
  case Level::kCounters: return "counters";
  }
  return "none";
}
struct LevelReport {
  Level level = Level::kNone;
  std::string reason; ///< why the next level is not reached; empty at the highest
};

/// One kernel that ran, from the activity records of the driver.
struct KernelSpan {
  std::int64_t launch = -1; ///< index of the launch that started it; -1: no record says
  std::string kernel;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};
struct ActivityReport {
  std::vector<KernelSpan> kernels;
  std::int64_t dropped = 0; ///< records that the driver had no buffer for
  std::int64_t invalid = 0; ///< records without a time
  std::string refusal;      ///< why there are none; empty where they were collected
};

/// Values of metrics, one row per launch, in the order asked for.
struct CounterReport {
  std::vector<std::vector<double>> values;
  std::int64_t passes = 0;
  std::string refusal; ///< why there are none
};

/// What the card says about itself now; absent where it does not say.
struct CardState {
  std::optional<double> sm_clock_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> temperature_c;
  std::optional<double> power_w;
  std::vector<std::string> throttle_reasons; ///< those that lower the clock, the idle state not among them
};

/// A peak of the device: "fma f32", "tensor bf16", "tensor tf32", "exp f32" per second, "L2" and "DRAM" in B/s.
struct DeviceCeiling {
  std::string what;
  double per_s = 0;
  std::string source; ///< the loop or the library that reached it, or the metric that states it
};
struct DeviceCeilings {
  std::vector<DeviceCeiling> measured;
  /// What CUPTI states as the most that the device sustains, at the clock of the run that asked.
  std::vector<DeviceCeiling> sustained;
  std::string sustained_refusal; ///< why there are none
};

/// One launch made ready: library descriptors made and an algorithm chosen, or a kernel of our own.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Starts the launch; returns before it ends.
  virtual void start() = 0;
  /// Library and what it chose, such as "cublaslt algo 21 tile 18"; empty: the own kernel of the launch.
  [[nodiscard]] virtual std::string impl() const = 0;
  /// Why a library that was asked for did not take the launch; empty where none was, or it did.
  [[nodiscard]] virtual std::string note() const { return {}; }
};

/// A device with one stream. After an error that the driver cannot recover from, every call throws
/// Error(kDeviceLost), so that no later case is taken for wrong.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const DeviceFacts& facts() const = 0;
  /// Throws Error(kMemory) where the device refuses.
  virtual std::byte* allocate(std::int64_t bytes) = 0;
  virtual void release(std::byte* memory) = 0;
  [[nodiscard]] virtual std::int64_t free_bytes() = 0;
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void read(std::span<std::byte> to, const std::byte* from) = 0;
  /// Bytes of workspace that a library wants for this launch, whose addresses may be null; 0 where an own kernel runs.
  [[nodiscard]] virtual std::int64_t workspace_bytes(const LaunchArgs& args) = 0;
  /// Addresses in `args` must stay as they are as long as the kernel.
  virtual std::unique_ptr<Kernel> prepare(const LaunchArgs& args) = 0;
  virtual void synchronize() = 0;

  /// Device time between the first and the last thing that `body` starts. `queued`: everything is started before the
  /// device begins, so that no time of the host is in it; for bodies of few launches that do not wait.
  virtual double time_s(const std::function<void()>& body, bool queued) = 0;
  /// Fills the second-level cache with other values.
  virtual void flush_cache() = 0;

  [[nodiscard]] virtual LevelReport level() = 0;
  /// Kernels that `run_launch` starts for each of `count` launches, attributed by external correlation.
  virtual ActivityReport trace(std::size_t count, const std::function<void(std::size_t)>& run_launch) = 0;
  /// Metrics of each launch, which is run once per pass; every run must begin from the same inputs.
  virtual CounterReport count(const std::vector<std::string>& metrics, std::size_t count,
                              const std::function<void(std::size_t)>& run_launch) = 0;
  /// Base names that the profiler knows for this chip, and passes that a set takes; empty or absent without a profiler.
  [[nodiscard]] virtual std::vector<std::string> metric_names() = 0;
  [[nodiscard]] virtual CardState card_state() = 0;
  /// Takes about two seconds.
  virtual DeviceCeilings measure_ceilings() = 0;
};

/// What the plugin library exports as `attnprof_gpu_identity`, checked before anything else of it is touched.
struct PluginIdentity {
  int abi = 0;
  const char* build_id = nullptr;
};
/// What it exports as `attnprof_gpu_open`. Throws Error(kUnavailable) with the reason.
using OpenDevice = std::unique_ptr<Device> (*)();

} // namespace attnprof::operators::gpu
