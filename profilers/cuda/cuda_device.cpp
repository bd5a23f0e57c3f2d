#include "profilers/cuda/cuda_device.hpp"

#include "operators/kernels/cuda/cuda_error.hpp"
#include "operators/kernels/cuda/own_kernels.hpp"
#include "operators/kernels/cuda/product_lt.hpp"
#include "operators/kernels/cuda/sdpa_cudnn.hpp"
#include "profilers/cuda/activity.hpp"
#include "profilers/cuda/ceilings.hpp"
#include "profilers/cuda/metric_catalog.hpp"
#include "profilers/cuda/nvml.hpp"
#include "profilers/cuda/range_counter.hpp"
#include "profilers/cuda/sustained_peaks.hpp"
#include "profilers/cuda/timing_kernels.hpp"

#include <array>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace attnprof::profilers::cuda {
namespace {

namespace gpu = operators::gpu;
using gpu::require;
using operators::Error;
using operators::ErrorKind;

/// Of cuBLASLt's products, as NVIDIA advises for Hopper; smaller cards lose nothing by it.
constexpr std::int64_t kProductWorkspaceBytes = std::int64_t{32} << 20U;
/// A gate that nobody opens must not hold the card.
constexpr std::int64_t kGateNs = 5'000'000'000;
/// The flushed buffer, in sizes of the second-level cache.
constexpr std::int64_t kFlushTimes = 2;

int attribute(cudaDeviceAttr name, int ordinal) {
  int value = 0;
  require(cudaDeviceGetAttribute(&value, name, ordinal), "cudaDeviceGetAttribute");
  return value;
}

class CudaDevice final : public gpu::Device {
 public:
  explicit CudaDevice(int ordinal) : ordinal_(ordinal) {
    require(cudaSetDevice(ordinal), "cudaSetDevice");
    require(cudaFree(nullptr), "making a context");
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    for (cudaEvent_t& event : events_) {
      require(cudaEventCreate(&event), "cudaEventCreate");
    }
    void* shared = nullptr;
    require(cudaHostAlloc(&shared, 2 * sizeof(std::int32_t), cudaHostAllocMapped), "cudaHostAlloc");
    gate_ = static_cast<volatile std::int32_t*>(shared);
    describe();
    if (cublasLtCreate(&library_) != CUBLAS_STATUS_SUCCESS) {
      library_ = nullptr; // the own kernels then multiply
    }
    std::array<char, 32> bus{};
    require(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), ordinal), "cudaDeviceGetPCIBusId");
    nvml_ = std::make_unique<Nvml>(bus.data());
  }

  [[nodiscard]] const gpu::DeviceFacts& facts() const override { return facts_; }

  std::byte* allocate(std::int64_t bytes) override {
    void* memory = nullptr;
    checked([&] { require(cudaMalloc(&memory, static_cast<std::size_t>(bytes)), "allocating device memory"); });
    return static_cast<std::byte*>(memory);
  }
  void release(std::byte* memory) override {
    if (lost_.empty()) {
      static_cast<void>(cudaFree(memory)); // also called while an error unwinds
    }
  }
  [[nodiscard]] std::int64_t free_bytes() override {
    std::size_t free = 0;
    std::size_t total = 0;
    checked([&] { require(cudaMemGetInfo(&free, &total), "cudaMemGetInfo"); });
    return static_cast<std::int64_t>(free);
  }
  void write(std::byte* to, std::span<const std::byte> from) override {
    checked([&] {
      require(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream_), "copying to the device");
      require(cudaStreamSynchronize(stream_), "copying to the device");
    });
  }
  void read(std::span<std::byte> to, const std::byte* from) override {
    checked([&] {
      require(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream_), "copying from the device");
      require(cudaStreamSynchronize(stream_), "copying from the device");
    });
  }
  [[nodiscard]] std::int64_t workspace_bytes(const gpu::LaunchArgs& args) override {
    std::int64_t out = 0;
    checked([&] {
      if (std::holds_alternative<gpu::ProductArgs>(args) && library_ != nullptr) {
        out = kProductWorkspaceBytes;
      }
      if (const auto* attention = std::get_if<gpu::AttentionArgs>(&args); attention != nullptr && prefers_cudnn()) {
        out = cudnn().workspace_bytes(*attention);
      }
    });
    return out;
  }

  std::unique_ptr<gpu::Kernel> prepare(const gpu::LaunchArgs& args) override;

  void synchronize() override {
    checked([&] { require(cudaStreamSynchronize(stream_), "waiting for the device"); });
  }

  double time_s(const std::function<void()>& body, bool queued) override {
    float milliseconds = 0.0F;
    checked([&] {
      if (queued) {
        gate_[0] = 0;
        gate_[1] = 0;
        start_gate(gate_, gate_ + 1, kGateNs, stream_);
        require(cudaGetLastError(), "starting the gate");
      }
      require(cudaEventRecord(events_[0], stream_), "cudaEventRecord");
      try {
        body();
      } catch (...) {
        gate_[0] = 1;
        throw;
      }
      require(cudaEventRecord(events_[1], stream_), "cudaEventRecord");
      gate_[0] = 1;
      require(cudaEventSynchronize(events_[1]), "waiting for a sample");
      require(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]), "cudaEventElapsedTime");
    });
    if (queued && gate_[1] != 0) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("the gate in front of a sample was not opened within {} s", kGateNs / 1'000'000'000));
    }
    return 1e-3 * static_cast<double>(milliseconds);
  }

  void flush_cache() override {
    checked([&] {
      if (flush_ == nullptr) {
        flush_bytes_ = static_cast<std::size_t>(kFlushTimes * facts_.l2_bytes);
        require(cudaMalloc(&flush_, flush_bytes_), "allocating a buffer to flush the cache with");
      }
      require(cudaMemsetAsync(flush_, ++flush_value_ & 0xFF, flush_bytes_, stream_), "flushing the cache");
    });
  }

  [[nodiscard]] gpu::LevelReport level() override {
    if (!level_) {
      level_ = find_level();
    }
    return *level_;
  }

  gpu::ActivityReport trace(std::size_t count, const std::function<void(std::size_t)>& run_launch) override {
    gpu::ActivityReport out;
    checked([&] {
      ActivitySession session;
      if (!session.refusal().empty()) {
        out.refusal = session.refusal();
        return;
      }
      for (std::size_t i = 0; i < count; ++i) {
        session.begin_launch(i);
        run_launch(i);
        session.end_launch();
      }
      require(cudaStreamSynchronize(stream_), "waiting for traced launches");
      out = session.finish();
    });
    return out;
  }

  gpu::CounterReport count(const std::vector<std::string>& metrics, std::size_t count,
                           const std::function<void(std::size_t)>& run_launch) override {
    gpu::CounterReport out;
    checked([&] { out = count_ranges(context(), facts_.chip, metrics, count, run_launch); });
    return out;
  }

  [[nodiscard]] std::vector<std::string> metric_names() override {
    return facts_.chip.empty() ? std::vector<std::string>() : cuda::metric_names(facts_.chip);
  }
  [[nodiscard]] gpu::CardState card_state() override { return nvml_->read(); }
  gpu::DeviceCeilings measure_ceilings() override {
    gpu::DeviceCeilings out;
    out.measured = cuda::measure_ceilings(facts_, free_bytes(), library_, stream_,
                                          [this](const std::function<void()>& body) { return time_s(body, true); });
    if (const gpu::LevelReport reached = level(); reached.level < gpu::Level::kCounters) {
      out.sustained_refusal = reached.reason;
      return out;
    }
    // After the measured ones: counting may lower the clock.
    checked([&] { add_sustained_peaks(out, context(), facts_.chip, [this] { flush_cache(); }); });
    return out;
  }

 private:
  /// For comparisons: cuDNN's attention in place of our own, wherever it takes the launch.
  static bool prefers_cudnn() {
    const char* wanted = std::getenv("ATTNPROF_GPU_ATTENTION");
    return wanted != nullptr && std::string_view(wanted) == "cudnn";
  }
  /// The libraries' own switch, which would make a row that says tf32 untrue.
  static bool forbids_tf32() {
    const char* wanted = std::getenv("NVIDIA_TF32_OVERRIDE");
    return wanted != nullptr && std::string_view(wanted) == "0";
  }
  gpu::CudnnAttention& cudnn() {
    if (cudnn_ == nullptr) {
      cudnn_ = std::make_unique<gpu::CudnnAttention>(stream_);
    }
    return *cudnn_;
  }

  void describe() {
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, ordinal_), "cudaGetDeviceProperties");
    facts_.name = properties.name;
    facts_.compute_major = properties.major;
    facts_.compute_minor = properties.minor;
    facts_.multiprocessors = properties.multiProcessorCount;
    facts_.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
    facts_.l2_bytes = properties.l2CacheSize;
    facts_.shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal_);
    require(cudaDriverGetVersion(&facts_.driver_version), "cudaDriverGetVersion");
    require(cudaRuntimeGetVersion(&facts_.runtime_version), "cudaRuntimeGetVersion");
    facts_.chip = chip_name(ordinal_);
  }

  static CUctx_st* context() {
    // Through the runtime, so that the plugin links no driver.
    void* symbol = nullptr;
    cudaDriverEntryPointQueryResult found{};
    require(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &symbol, 12000, cudaEnableDefault, &found),
            "cudaGetDriverEntryPoint");
    CUcontext out = nullptr;
    if (symbol != nullptr) {
      reinterpret_cast<CUresult (*)(CUcontext*)>(symbol)(&out);
    }
    return out;
  }

  gpu::LevelReport find_level() {
    {
      ActivitySession session;
      if (!session.refusal().empty()) {
        return {gpu::Level::kEvents, session.refusal()};
      }
    }
    CUctx_st* current = context();
    if (facts_.chip.empty() || current == nullptr) {
      return {gpu::Level::kActivity, "CUPTI does not know this chip: its version is older than the device"};
    }
    const std::string refusal = counter_refusal(ordinal_, current);
    return refusal.empty() ? gpu::LevelReport{gpu::Level::kCounters, ""}
                           : gpu::LevelReport{gpu::Level::kActivity, refusal};
  }

  /// Runs a step; where it fails and the context does not recover, this and every later call is device_lost.
  template <class Step>
  void checked(const Step& step) {
    if (!lost_.empty()) {
      throw Error(ErrorKind::kDeviceLost,
                  fmt::format("device_lost: an earlier fault took the GPU from this process ({}); run the sweep with "
                              "--isolate",
                              lost_));
    }
    try {
      step();
    } catch (const Error& error) {
      if (cudaDeviceSynchronize() != cudaSuccess) {
        lost_ = error.what();
      }
      throw;
    }
  }

  friend class OwnKernel;
  friend class LibraryKernel;

  int ordinal_;
  gpu::DeviceFacts facts_;
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, 2> events_{};
  volatile std::int32_t* gate_ = nullptr; ///< released, expired
  cublasLtHandle_t library_ = nullptr;
  std::unique_ptr<gpu::CudnnAttention> cudnn_;
  std::unique_ptr<Nvml> nvml_;
  void* flush_ = nullptr;
  std::size_t flush_bytes_ = 0;
  int flush_value_ = 0;
  std::optional<gpu::LevelReport> level_;
  std::string lost_;
};

class OwnKernel final : public gpu::Kernel {
 public:
  OwnKernel(CudaDevice& device, const gpu::LaunchArgs& args, std::string note)
      : device_(device), args_(args), note_(std::move(note)) {}
  void start() override {
    device_.checked([&] {
      gpu::start_own_kernel(args_, device_.stream_);
      require(cudaGetLastError(), "starting a kernel");
    });
  }
  [[nodiscard]] std::string impl() const override { return {}; }
  [[nodiscard]] std::string note() const override { return note_; }

 private:
  CudaDevice& device_;
  gpu::LaunchArgs args_;
  std::string note_;
};

/// A kernel of a library, with the device's watch over errors.
class LibraryKernel final : public gpu::Kernel {
 public:
  LibraryKernel(CudaDevice& device, std::unique_ptr<gpu::Kernel> kernel)
      : device_(device), kernel_(std::move(kernel)) {}
  void start() override {
    device_.checked([&] { kernel_->start(); });
  }
  [[nodiscard]] std::string impl() const override { return kernel_->impl(); }

 private:
  CudaDevice& device_;
  std::unique_ptr<gpu::Kernel> kernel_;
};

std::unique_ptr<gpu::Kernel> CudaDevice::prepare(const gpu::LaunchArgs& args) {
  std::unique_ptr<gpu::Kernel> library;
  std::string note;
  checked([&] {
    const auto* product = std::get_if<gpu::ProductArgs>(&args);
    if (product != nullptr && product->tf32 && forbids_tf32()) {
      throw Error(ErrorKind::kUnsupported,
                  "NVIDIA_TF32_OVERRIDE=0 makes cuBLASLt multiply in f32: unset it, or use --math f32");
    }
    if (product != nullptr && library_ != nullptr) {
      library = gpu::make_lt_product(library_, *product, stream_);
    }
    if (const auto* attention = std::get_if<gpu::AttentionArgs>(&args); attention != nullptr && prefers_cudnn()) {
      note = cudnn().refusal(*attention);
      library = note.empty() ? cudnn().prepare(*attention) : nullptr;
    }
  });
  if (library != nullptr) {
    return std::make_unique<LibraryKernel>(*this, std::move(library));
  }
  return std::make_unique<OwnKernel>(*this, args, std::move(note));
}

} // namespace

std::unique_ptr<gpu::Device> open_cuda_device(int ordinal) {
  try {
    return std::make_unique<CudaDevice>(ordinal);
  } catch (const Error& error) {
    throw Error(ErrorKind::kUnavailable,
                fmt::format("--device cuda is not possible: GPU {} could not be opened, {}; or "
                            "use --device cpu",
                            ordinal, error.what()));
  }
}

} // namespace attnprof::profilers::cuda
