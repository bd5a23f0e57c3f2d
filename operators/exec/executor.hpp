#pragma once
#include "operators/core/graph.hpp"
#include "operators/core/product_math.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attnprof::operators {

namespace gpu {
class Device;
}

/// Who multiplies matrices: by the rule of what is fastest (kernels/cpu/product_rule.cpp), or always one of the two,
/// for comparisons. oneDNN then still leaves products to the own kernels that it cannot run as they lie in memory.
enum class Products { kByRule, kOwn, kOneDnn };

struct ExecOptions {
  int threads = 1;
  std::string isa;        ///< "baseline", "avx2", "avx512"; empty: the widest that this processor has
  std::uint64_t seed = 1; ///< of the random inputs and weights
  Products products = Products::kByRule;
  ProductMath math = ProductMath::kF32; ///< tf32: GPUs only, prepare() throws Error(kUnsupported) elsewhere
};

/// A launch list made ready: buffers allocated, touched and filled, weights packed, kernels chosen. run() allocates
/// nothing of any size: the own kernels nothing at all, a call of oneDNN its list of arguments, about a dozen objects
/// of less than 1 KiB together.
class Program {
 public:
  virtual ~Program() = default;
  virtual void run() = 0;
  virtual void run_launch(std::size_t index) = 0;
  /// One name per launch: library or own kernel, and the instruction set that runs, such as "own gemm avx2 packed" or
  /// "onednn jit_1x1:avx2" (oneDNN's name of its 1x1 convolution, which multiplies by a weight).
  [[nodiscard]] virtual const std::vector<std::string>& kernel_impls() const = 0;
  /// Writes an input, weight, constant or cache; values in row-major order, rounded to the tensor's dtype.
  virtual void write(TensorId tensor, std::span<const float> values) = 0;
  /// Reads any tensor that is not an intermediate.
  [[nodiscard]] virtual std::vector<float> read(TensorId tensor) const = 0;
  /// Where a tensor lies in host memory, so that a cache policy can evict it; absent on devices.
  [[nodiscard]] virtual std::optional<std::span<const std::byte>> memory(TensorId tensor) const = 0;
  /// The logical processor that each worker thread is bound to; empty where they are free, and on devices.
  [[nodiscard]] virtual std::vector<int> processors() const { return {}; }
};

class Executor {
 public:
  virtual ~Executor() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// Why this launch list cannot be run here, as a sentence; absent where it can.
  [[nodiscard]] virtual std::optional<std::string> unsupported(const Graph& launches) const = 0;
  /// Bytes that prepare() would allocate, counted without allocating.
  [[nodiscard]] virtual Count memory_bytes(const Graph& launches, const ExecOptions& options) const = 0;
  /// Throws Error(kUnsupported | kMemory). The graph is copied into the program.
  [[nodiscard]] virtual std::unique_ptr<Program> prepare(const Graph& launches, const ExecOptions& options) const = 0;
  /// The device that runs the programs; null where the host does.
  [[nodiscard]] virtual gpu::Device* device() const { return nullptr; }
};

/// The CPU, dtypes f32 and bf16: own kernels for each instruction set, and oneDNN for the products that it multiplies
/// faster: by weights in f32 on AVX2, of any dense factors on AVX-512.
std::unique_ptr<Executor> make_cpu_executor();

} // namespace attnprof::operators
