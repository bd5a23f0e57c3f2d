#include "profilers/cuda/ceilings.hpp"

#include "operators/kernels/cuda/cuda_error.hpp"
#include "operators/kernels/cuda/product_lt.hpp"
#include "profilers/cuda/timing_kernels.hpp"

#include <algorithm>
#include <cmath>

namespace attnprof::profilers::cuda {
namespace {

namespace gpu = operators::gpu;
using gpu::DeviceCeiling;
using gpu::require;

constexpr int kRounds = 10;
constexpr std::int64_t kMostCopyBytes = std::int64_t{1} << 30U;
constexpr std::int64_t kProductSize = 8192;
constexpr std::int64_t kProductWorkspace = std::int64_t{32} << 20U;

/// Device memory with no zeros in it: products of zeros take less power and run at a higher clock.
class Buffer {
 public:
  explicit Buffer(std::int64_t bytes) {
    void* memory = nullptr;
    require(cudaMalloc(&memory, static_cast<std::size_t>(bytes)), "allocating memory to measure ceilings with");
    memory_ = static_cast<std::byte*>(memory);
  }
  ~Buffer() { static_cast<void>(cudaFree(memory_)); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] std::byte* get() const { return memory_; }

 private:
  std::byte* memory_ = nullptr;
};

using TimeBody = std::function<double(const std::function<void()>&)>;

/// Work per second in the fastest round: others on the card only lower it.
double best_rate(double work, const TimeBody& time_s, const std::function<void()>& body) {
  // Loads the kernel, which cannot be done while the gate in front of a sample waits.
  body();
  require(cudaDeviceSynchronize(), "a loop to measure ceilings with");
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (const double taken_s = time_s(body); taken_s > 0) {
      best = std::max(best, work / taken_s);
    }
  }
  return best;
}

std::optional<DeviceCeiling> product_ceiling(operators::DType dtype, std::int64_t size, const std::byte* operands,
                                             std::byte* result, std::byte* workspace, cublasLtHandle_t library,
                                             CUstream_st* stream, const TimeBody& time_s) {
  gpu::ProductArgs args;
  args.m = args.n = args.k = size;
  args.tf32 = dtype == operators::DType::kF32; // what f32 reaches without is the multiply-add unit
  args.a.address = const_cast<std::byte*>(operands);
  args.b.address = const_cast<std::byte*>(operands);
  args.c.address = result;
  args.a.dtype = args.b.dtype = args.c.dtype = dtype;
  args.a_row = args.b_row = args.c_row = size;
  args.a_column = args.b_column = args.c_column = 1;
  args.workspace = workspace;
  args.workspace_bytes = kProductWorkspace;
  const auto product = library == nullptr ? nullptr : gpu::make_lt_product(library, args, stream);
  if (product == nullptr) {
    return std::nullopt;
  }
  const double flops = 2.0 * std::pow(static_cast<double>(size), 3);
  const double per_s = best_rate(flops, time_s, [&] { product->start(); });
  return DeviceCeiling{fmt::format("tensor {}", args.tf32 ? "tf32" : operators::name_of(dtype)), per_s,
                       fmt::format("product of {} cubed, {}", size, product->impl())};
}

} // namespace

std::vector<DeviceCeiling> measure_ceilings(const gpu::DeviceFacts& facts, std::int64_t free_bytes,
                                            cublasLtHandle_t library, CUstream_st* stream, const TimeBody& time_s) {
  std::vector<DeviceCeiling> out;
  const std::int64_t bytes = std::min(kMostCopyBytes, free_bytes / 4) / 256 * 256;
  const Buffer from(bytes);
  const Buffer to(bytes);
  start_fill(from.get(), bytes, stream);
  require(cudaGetLastError(), "filling memory to measure ceilings with");
  const int blocks = 32 * facts.multiprocessors;
  const double arithmetic = 2.0 * static_cast<double>(start_multiply_adds(to.get(), blocks, stream));
  out.push_back({"fma f32", best_rate(arithmetic, time_s, [&] { start_multiply_adds(to.get(), blocks, stream); }),
                 "own loop of independent multiply-adds"});
  const auto exponentials = static_cast<double>(start_exponentials(to.get(), blocks, stream));
  out.push_back({"exp f32", best_rate(exponentials, time_s, [&] { start_exponentials(to.get(), blocks, stream); }),
                 "own loop of ex2.approx"});
  const Buffer workspace(kProductWorkspace);
  for (const operators::DType dtype : {operators::DType::kBf16, operators::DType::kF16, operators::DType::kF32}) {
    const bool fits = bytes >= operators::size_bytes(dtype) * kProductSize * kProductSize;
    const bool has_unit = facts.compute_major >= (dtype == operators::DType::kF16 ? 7 : 8);
    if (fits && has_unit) {
      if (auto one =
              product_ceiling(dtype, kProductSize, from.get(), to.get(), workspace.get(), library, stream, time_s)) {
        out.push_back(std::move(*one));
      }
    }
  }
  if (facts.l2_bytes > 0) {
    const std::int64_t near = std::min(facts.l2_bytes / 4, bytes) / 256 * 256;
    const auto read = static_cast<double>(start_reads(from.get(), near, to.get(), blocks, stream));
    out.push_back({"L2", best_rate(read, time_s, [&] { start_reads(from.get(), near, to.get(), blocks, stream); }),
                   "own reads of a quarter of the cache, over and over"});
  }
  out.push_back(
      {"DRAM",
       best_rate(2.0 * static_cast<double>(bytes), time_s, [&] { start_copy(to.get(), from.get(), bytes, stream); }),
       fmt::format("own copy of {} MiB, read and written bytes", bytes >> 20U)});
  return out;
}

} // namespace attnprof::profilers::cuda
