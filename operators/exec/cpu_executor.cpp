#include "operators/exec/executor.hpp"
#include "operators/exec/fill.hpp"
#include "operators/exec/threads.hpp"
#include "operators/exec/workspace.hpp"
#include "operators/kernels/cpu/kernel.hpp"

#include "operators/core/io.hpp"

#include <fmt/format.h>

namespace attnprof::operators {
namespace {

using cpu::CpuKernel;
using cpu::KernelTable;
using cpu::Storage;

/// Everything about a program that can be known without its memory.
struct ProgramPlan {
  std::vector<Storage> storage;
  std::vector<std::unique_ptr<CpuKernel>> kernels;
  WorkspacePlan workspace;
};

ProgramPlan plan_program(const Graph& launches, const ExecOptions& options) {
  const KernelTable& table = cpu::select_kernels(options.isa);
  ProgramPlan plan;
  plan.storage = cpu::plan_storage(launches, table, options.threads, options.products);
  std::int64_t scratch_bytes = 0;
  for (const Op& op : launches.ops) {
    plan.kernels.push_back(cpu::plan_kernel({launches, plan.storage, table, options.threads, options.products}, op));
    scratch_bytes = std::max(scratch_bytes, plan.kernels.back()->scratch_bytes());
  }
  std::vector<std::int64_t> tensor_bytes;
  for (const Storage& storage : plan.storage) {
    tensor_bytes.push_back(storage.bytes);
  }
  plan.workspace = plan_workspace(launches, tensor_bytes, scratch_bytes);
  return plan;
}

class CpuProgram final : public Program {
 public:
  CpuProgram(Graph graph, ProgramPlan plan, const ExecOptions& options)
      : graph_(std::move(graph)), plan_(std::move(plan)), team_(options.threads), arena_(plan_.workspace.bytes) {
    team_.run([&](int share) { arena_.touch(share, team_.size()); });
    std::vector<std::byte*> addresses;
    for (const std::int64_t offset : plan_.workspace.offsets) {
      addresses.push_back(offset < 0 ? nullptr : arena_.bytes().data() + offset);
    }
    for (const std::unique_ptr<CpuKernel>& kernel : plan_.kernels) {
      kernel->bind(addresses, arena_.bytes().data() + plan_.workspace.scratch_offset);
      impls_.push_back(kernel->impl());
    }
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const Tensor& tensor = graph_.tensors[i];
      if (plan_.storage[i].bytes > 0 && tensor.role != TensorRole::kIntermediate &&
          tensor.role != TensorRole::kOutput) {
        cpu::store_values(plan_.storage[i], fill_values(tensor, options.seed), bytes_of_tensor(i));
      }
    }
  }

  void run() override {
    team_.run_region([&] {
      for (const std::unique_ptr<CpuKernel>& kernel : plan_.kernels) {
        run_kernel(*kernel);
      }
    });
  }
  void run_launch(std::size_t index) override {
    team_.run_region([&] { run_kernel(*plan_.kernels[index]); });
  }
  [[nodiscard]] const std::vector<std::string>& kernel_impls() const override { return impls_; }

  void write(TensorId id, std::span<const float> values) override {
    const std::size_t i = index_of(id);
    const auto wanted = graph_.tensors[i].elements().value();
    if (static_cast<std::int64_t>(values.size()) != wanted) {
      throw Error(ErrorKind::kInternal, fmt::format("tensor {} has {} elements and was given {}",
                                                    graph_.tensors[i].name, wanted, values.size()));
    }
    if (plan_.storage[i].bytes > 0) {
      cpu::store_values(plan_.storage[i], values, bytes_of_tensor(i));
    }
  }
  [[nodiscard]] std::vector<float> read(TensorId id) const override {
    const std::size_t i = index_of(id);
    if (plan_.storage[i].bytes == 0) {
      return {};
    }
    return cpu::load_values(plan_.storage[i], graph_.tensors[i].elements().value(), bytes_of_tensor(i));
  }
  [[nodiscard]] std::optional<std::span<const std::byte>> memory(TensorId id) const override {
    const auto i = static_cast<std::size_t>(id);
    if (plan_.storage[i].bytes == 0) {
      return std::nullopt;
    }
    return bytes_of_tensor(i);
  }
  [[nodiscard]] std::vector<int> processors() const override { return team_.processors(); }

 private:
  void run_kernel(const CpuKernel& kernel) const {
    for (int phase = 0; phase < kernel.phases(); ++phase) {
      team_.for_my_shares([&](int share) { kernel.run(phase, share, team_.size()); });
      ThreadTeam::barrier();
    }
  }
  [[nodiscard]] std::size_t index_of(TensorId id) const {
    const auto i = static_cast<std::size_t>(id);
    if (graph_.tensors[i].role == TensorRole::kIntermediate) {
      throw Error(ErrorKind::kInternal, fmt::format("tensor {} is an intermediate: its memory is shared with others",
                                                    graph_.tensors[i].name));
    }
    return i;
  }
  [[nodiscard]] std::span<std::byte> bytes_of_tensor(std::size_t i) const {
    return arena_.bytes().subspan(static_cast<std::size_t>(plan_.workspace.offsets[i]),
                                  static_cast<std::size_t>(plan_.storage[i].bytes));
  }

  Graph graph_;
  ProgramPlan plan_;
  ThreadTeam team_;
  Arena arena_;
  std::vector<std::string> impls_;
};

void require_threads(const ExecOptions& options) {
  if (options.threads < 1) {
    throw Error(ErrorKind::kUsage, fmt::format("{} threads cannot run anything: give 1 or more", options.threads));
  }
}

class CpuExecutor final : public Executor {
 public:
  [[nodiscard]] std::string name() const override { return "cpu"; }

  [[nodiscard]] std::optional<std::string> unsupported(const Graph& launches) const override {
    for (const Op& op : launches.ops) {
      const Io io = io_of(op.primitive);
      for (const std::vector<View>* views : {&io.reads, &io.writes}) {
        for (const View& view : *views) {
          const Tensor& tensor = launches.tensor(view.tensor);
          if (tensor.dtype == DType::kF16) {
            return fmt::format(
                "the CPU executor has kernels for f32 and bf16, and tensor {} is f16: choose --dtype f32 or "
                "bf16",
                tensor.name);
          }
        }
      }
      const auto* conv = std::get_if<DepthwiseConv2d>(&op.primitive);
      if (conv != nullptr && conv->w.dims[1] > 64) {
        return fmt::format("{}: the depthwise kernel takes up to 64 rows of taps, not {}", op.scope, conv->w.dims[1]);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] Count memory_bytes(const Graph& launches, const ExecOptions& options) const override {
    require_threads(options);
    return plan_program(launches, options).workspace.bytes;
  }

  [[nodiscard]] std::unique_ptr<Program> prepare(const Graph& launches, const ExecOptions& options) const override {
    require_threads(options);
    if (options.math == ProductMath::kTf32) {
      throw Error(ErrorKind::kUnsupported, "--math tf32 multiplies on the tensor cores of a GPU: use --device cuda, or "
                                           "--math f32");
    }
    if (const std::optional<std::string> reason = unsupported(launches)) {
      throw Error(ErrorKind::kUnsupported, *reason);
    }
    return std::make_unique<CpuProgram>(launches, plan_program(launches, options), options);
  }
};

} // namespace

std::unique_ptr<Executor> make_cpu_executor() {
  return std::make_unique<CpuExecutor>();
}

} // namespace attnprof::operators
