#include "operators/exec/gpu_executor.hpp"

#include "operators/core/error.hpp"
#include "operators/core/io.hpp"
#include "operators/exec/encode.hpp"
#include "operators/exec/fill.hpp"
#include "operators/exec/workspace.hpp"
#include "operators/kernels/gpu/own_name.hpp"
#include "operators/kernels/gpu/plan.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

/// Tensors that an op touches take memory; those that fusing left without use do not.
std::vector<std::int64_t> used_bytes(const Graph& launches) {
  std::vector<std::int64_t> out(launches.tensors.size(), 0);
  for (const Op& op : launches.ops) {
    const Io io = io_of(op.primitive);
    for (const std::vector<View>* views : {&io.reads, &io.writes}) {
      for (const View& view : *views) {
        out[static_cast<std::size_t>(view.tensor)] = launches.tensor(view.tensor).bytes().value();
      }
    }
  }
  return out;
}

struct ProgramMemory {
  std::vector<std::int64_t> tensor_bytes;
  WorkspacePlan workspace;
  std::vector<std::int64_t> library_bytes; ///< of each launch, all in the one scratch
};

ProgramMemory plan_memory(const Graph& launches, gpu::Device& device) {
  ProgramMemory out;
  out.tensor_bytes = used_bytes(launches);
  std::int64_t scratch = 0;
  for (const Op& op : launches.ops) {
    const bool runs = !gpu::refusal(launches, op, device.facts());
    out.library_bytes.push_back(
        runs ? device.workspace_bytes(gpu::plan_launch(launches, op, device.facts(), gpu::Memory{})) : 0);
    scratch = std::max({scratch, gpu::scratch_bytes(launches, op, device.facts()), out.library_bytes.back()});
  }
  // Whole lines of 256 bytes, which libraries expect and wide accesses need.
  constexpr std::int64_t kLine = 256;
  std::vector<std::int64_t> rounded;
  for (const std::int64_t bytes : out.tensor_bytes) {
    rounded.push_back(round_up(bytes, kLine));
  }
  out.workspace = plan_workspace(launches, rounded, scratch, {kLine, false});
  return out;
}

/// Device memory, given back at the end.
class DeviceArena {
 public:
  DeviceArena(gpu::Device& device, std::int64_t bytes) : device_(device) {
    if (bytes > 0) {
      const std::int64_t free = device.free_bytes();
      if (bytes > free) {
        throw Error(ErrorKind::kMemory,
                    fmt::format("needs {} bytes of device memory and {} are free on {}: use smaller "
                                "sizes or --plan fused",
                                bytes, free, device.facts().name));
      }
      begin_ = device.allocate(bytes);
    }
  }
  ~DeviceArena() {
    if (begin_ != nullptr) {
      device_.release(begin_);
    }
  }
  DeviceArena(const DeviceArena&) = delete;
  DeviceArena& operator=(const DeviceArena&) = delete;
  [[nodiscard]] std::byte* at(std::int64_t offset) const { return offset < 0 ? nullptr : begin_ + offset; }

 private:
  gpu::Device& device_;
  std::byte* begin_ = nullptr;
};

class GpuProgram final : public Program {
 public:
  GpuProgram(Graph graph, ProgramMemory memory, std::shared_ptr<gpu::Device> device, const ExecOptions& options)
      : graph_(std::move(graph)), memory_(std::move(memory)), device_(std::move(device)),
        arena_(*device_, memory_.workspace.bytes) {
    std::vector<std::byte*> addresses;
    for (const std::int64_t offset : memory_.workspace.offsets) {
      addresses.push_back(arena_.at(offset));
    }
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      const gpu::Memory where{addresses, arena_.at(memory_.workspace.scratch_offset), memory_.library_bytes[i]};
      gpu::LaunchArgs args = gpu::plan_launch(graph_, op, device_->facts(), where);
      if (auto* product = std::get_if<gpu::ProductArgs>(&args)) {
        product->tf32 = options.math == ProductMath::kTf32;
      }
      kernels_.push_back(device_->prepare(args));
      const std::string library = kernels_.back()->impl();
      const std::string note = kernels_.back()->note();
      impls_.push_back((library.empty() ? gpu::own_name(args) : library) + (note.empty() ? "" : " (" + note + ")"));
    }
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const Tensor& tensor = graph_.tensors[i];
      if (memory_.tensor_bytes[i] > 0 && tensor.role != TensorRole::kIntermediate &&
          tensor.role != TensorRole::kOutput) {
        write(static_cast<TensorId>(i), fill_values(tensor, options.seed));
      }
    }
  }

  void run() override {
    for (const std::unique_ptr<gpu::Kernel>& kernel : kernels_) {
      kernel->start();
    }
  }
  void run_launch(std::size_t index) override { kernels_[index]->start(); }
  [[nodiscard]] const std::vector<std::string>& kernel_impls() const override { return impls_; }

  void write(TensorId id, std::span<const float> values) override {
    const std::size_t i = index_of(id);
    if (static_cast<std::int64_t>(values.size()) != graph_.tensors[i].elements().value()) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("tensor {} has {} elements and was given {}", graph_.tensors[i].name,
                              graph_.tensors[i].elements().value(), values.size()));
    }
    if (memory_.tensor_bytes[i] > 0) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(memory_.tensor_bytes[i]));
      encode(graph_.tensors[i].dtype, values, bytes);
      device_->write(arena_.at(memory_.workspace.offsets[i]), bytes);
    }
  }
  [[nodiscard]] std::vector<float> read(TensorId id) const override {
    const std::size_t i = index_of(id);
    if (memory_.tensor_bytes[i] == 0) {
      return {};
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(memory_.tensor_bytes[i]));
    device_->read(bytes, arena_.at(memory_.workspace.offsets[i]));
    std::vector<float> out(static_cast<std::size_t>(graph_.tensors[i].elements().value()));
    decode(graph_.tensors[i].dtype, bytes, out);
    return out;
  }
  [[nodiscard]] std::optional<std::span<const std::byte>> memory(TensorId /*tensor*/) const override {
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::size_t index_of(TensorId id) const {
    const auto i = static_cast<std::size_t>(id);
    if (graph_.tensors[i].role == TensorRole::kIntermediate) {
      throw Error(ErrorKind::kInternal, fmt::format("tensor {} is an intermediate: its memory is shared with others",
                                                    graph_.tensors[i].name));
    }
    return i;
  }

  Graph graph_;
  ProgramMemory memory_;
  std::shared_ptr<gpu::Device> device_;
  DeviceArena arena_;
  std::vector<std::unique_ptr<gpu::Kernel>> kernels_;
  std::vector<std::string> impls_;
};

class GpuExecutor final : public Executor {
 public:
  explicit GpuExecutor(std::shared_ptr<gpu::Device> device) : device_(std::move(device)) {}

  [[nodiscard]] std::string name() const override { return "cuda"; }
  [[nodiscard]] std::optional<std::string> unsupported(const Graph& launches) const override {
    for (const Op& op : launches.ops) {
      if (std::optional<std::string> reason = gpu::refusal(launches, op, device_->facts())) {
        return reason;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] Count memory_bytes(const Graph& launches, const ExecOptions& /*options*/) const override {
    return plan_memory(launches, *device_).workspace.bytes;
  }
  [[nodiscard]] std::unique_ptr<Program> prepare(const Graph& launches, const ExecOptions& options) const override {
    constexpr int kFirstTf32 = 8;
    if (options.math == ProductMath::kTf32 && device_->facts().compute_major < kFirstTf32) {
      throw Error(ErrorKind::kUnsupported,
                  fmt::format("{} has compute capability {}.{}, and tf32 products need {}.0: use --math f32",
                              device_->facts().name, device_->facts().compute_major, device_->facts().compute_minor,
                              kFirstTf32));
    }
    if (const std::optional<std::string> reason = unsupported(launches)) {
      throw Error(ErrorKind::kUnsupported, *reason);
    }
    return std::make_unique<GpuProgram>(launches, plan_memory(launches, *device_), device_, options);
  }
  [[nodiscard]] gpu::Device* device() const override { return device_.get(); }

 private:
  std::shared_ptr<gpu::Device> device_;
};

} // namespace

std::unique_ptr<Executor> make_gpu_executor(std::shared_ptr<gpu::Device> device) {
  return std::make_unique<GpuExecutor>(std::move(device));
}

} // namespace attnprof::operators
