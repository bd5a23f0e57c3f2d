#include "profilers/perf/check_kernels.hpp"

#include "profilers/mapped_buffer.hpp"

#include <memory>
#include <optional>

namespace attnprof::profilers {
namespace {

[[maybe_unused]] constexpr std::int64_t kCheckRounds = 4000;
[[maybe_unused]] constexpr double kUnroll = 512;
[[maybe_unused]] constexpr std::int64_t kFlushedBytes = 64 * 1024 * 1024;

#if defined(__x86_64__)

// Assembly, so that the work is that of these lines whatever the compiler does. Registers are zeroed first: denormal
// numbers left in them would call for microcode.
#define ATTNPROF_FP_KERNEL(name, instruction)                                                                          \
  void name() {                                                                                                        \
    asm volatile("xorps %%xmm0, %%xmm0\n\txorps %%xmm1, %%xmm1\n\txorps %%xmm2, %%xmm2" : : : "xmm0", "xmm1", "xmm2"); \
    for (std::int64_t round = 0; round < kCheckRounds; ++round)                                                        \
      asm volatile(".rept 512\n\t" instruction "\n\t.endr" : : : "xmm0", "xmm1", "xmm2");                              \
  }
#define ATTNPROF_WIDE_FP_KERNEL(name, instruction)                                                                     \
  void name() {                                                                                                        \
    asm volatile("vzeroall"                                                                                            \
                 :                                                                                                     \
                 :                                                                                                     \
                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",   \
                   "xmm12", "xmm13", "xmm14", "xmm15");                                                                \
    for (std::int64_t round = 0; round < kCheckRounds; ++round)                                                        \
      asm volatile(".rept 512\n\t" instruction "\n\t.endr" : : : "xmm0", "xmm1", "xmm2");                              \
    asm volatile("vzeroupper" : : : "xmm0", "xmm1", "xmm2");                                                           \
  }

ATTNPROF_FP_KERNEL(add_scalar_f32, "addss %%xmm1, %%xmm0")
ATTNPROF_FP_KERNEL(add_scalar_f64, "addsd %%xmm1, %%xmm0")
ATTNPROF_FP_KERNEL(multiply_128_f32, "mulps %%xmm1, %%xmm0")
ATTNPROF_FP_KERNEL(multiply_128_f64, "mulpd %%xmm1, %%xmm0")
ATTNPROF_WIDE_FP_KERNEL(fma_256_f32, "vfmadd231ps %%ymm2, %%ymm1, %%ymm0")
ATTNPROF_WIDE_FP_KERNEL(fma_256_f64, "vfmadd231pd %%ymm2, %%ymm1, %%ymm0")
ATTNPROF_WIDE_FP_KERNEL(fma_512_f32, "vfmadd231ps %%zmm2, %%zmm1, %%zmm0")
ATTNPROF_WIDE_FP_KERNEL(fma_512_f64, "vfmadd231pd %%zmm2, %%zmm1, %%zmm0")

#undef ATTNPROF_FP_KERNEL
#undef ATTNPROF_WIDE_FP_KERNEL

void rotate_chain() {
  std::uint64_t value = 1;
  for (std::int64_t round = 0; round < kCheckRounds; ++round)
    asm volatile(".rept 512\n\trol $1, %0\n\t.endr" : "+r"(value) : : "cc");
}

void add_arithmetic(std::vector<CheckKernel>& out) {
  const double operations = static_cast<double>(kCheckRounds) * kUnroll;
  out.push_back({CounterQuantity::kCycles, "cycles of a chain of rotations", operations, {}, rotate_chain});
  out.push_back({CounterQuantity::kInstructions, "instructions of a chain of rotations", operations, {}, rotate_chain});
  const auto fp = [&](const char* what, double flops_each, void (*run)()) {
    out.push_back({CounterQuantity::kFpOps, std::string("FLOPs of ") + what, operations * flops_each, {}, run});
  };
  fp("scalar additions in f32", 1, add_scalar_f32);
  fp("scalar additions in f64", 1, add_scalar_f64);
  fp("128-bit multiplications in f32", 4, multiply_128_f32);
  fp("128-bit multiplications in f64", 2, multiply_128_f64);
  if (__builtin_cpu_supports("fma") != 0) {
    fp("256-bit fused multiply-adds in f32", 16, fma_256_f32);
    fp("256-bit fused multiply-adds in f64", 8, fma_256_f64);
  }
  if (__builtin_cpu_supports("avx512f") != 0) {
    fp("512-bit fused multiply-adds in f32", 32, fma_512_f32);
    fp("512-bit fused multiply-adds in f64", 16, fma_512_f64);
  }
}

/// Reads one byte of each line. In address order, as kernels do: a counter that leaves out what prefetchers fetch must
/// fail here.
void add_line_fills(std::vector<CheckKernel>& out, std::int64_t line_bytes) {
  // Mapped when the test runs, which it does only where there is a PMU.
  const auto buffer = std::make_shared<std::optional<MappedBuffer>>();
  const auto flush = [buffer, line_bytes] {
    if (!*buffer) {
      buffer->emplace(kFlushedBytes);
      (*buffer)->touch(1);
    }
    for (std::int64_t at = 0; at < kFlushedBytes; at += line_bytes)
      __builtin_ia32_clflush((*buffer)->bytes() + at);
    __builtin_ia32_mfence();
  };
  const auto read_lines = [buffer, line_bytes] {
    const auto* first = reinterpret_cast<const volatile unsigned char*>((*buffer)->bytes());
    for (std::int64_t at = 0; at < kFlushedBytes; at += line_bytes)
      static_cast<void>(first[at]);
  };
  for (const CounterQuantity quantity :
       {CounterQuantity::kL1Misses, CounterQuantity::kL2Misses, CounterQuantity::kLlcMisses})
    out.push_back({quantity, "line fills of a read of 64 MiB that no cache holds",
                   static_cast<double>(kFlushedBytes / line_bytes), flush, read_lines});
  out.push_back({CounterQuantity::kDramTraffic, "bytes of a read of 64 MiB that no cache holds",
                 static_cast<double>(kFlushedBytes), flush, read_lines});
}

#elif defined(__aarch64__)

#define ATTNPROF_FP_KERNEL(name, instruction)                                                                          \
  void name() {                                                                                                        \
    asm volatile("movi v0.2d, #0\n\tmovi v1.2d, #0\n\tmovi v2.2d, #0" : : : "v0", "v1", "v2");                         \
    for (std::int64_t round = 0; round < kCheckRounds; ++round)                                                        \
      asm volatile(".rept 512\n\t" instruction "\n\t.endr" : : : "v0", "v1", "v2");                                    \
  }

ATTNPROF_FP_KERNEL(add_scalar_f32, "fadd s0, s0, s1")
ATTNPROF_FP_KERNEL(add_scalar_f64, "fadd d0, d0, d1")
ATTNPROF_FP_KERNEL(fma_128_f32, "fmla v0.4s, v1.4s, v2.4s")
ATTNPROF_FP_KERNEL(fma_128_f64, "fmla v0.2d, v1.2d, v2.2d")

#undef ATTNPROF_FP_KERNEL

void rotate_chain() {
  std::uint64_t value = 1;
  for (std::int64_t round = 0; round < kCheckRounds; ++round)
    asm volatile(".rept 512\n\tror %0, %0, #1\n\t.endr" : "+r"(value));
}

void add_arithmetic(std::vector<CheckKernel>& out) {
  const double operations = static_cast<double>(kCheckRounds) * kUnroll;
  out.push_back({CounterQuantity::kCycles, "cycles of a chain of rotations", operations, {}, rotate_chain});
  out.push_back({CounterQuantity::kInstructions, "instructions of a chain of rotations", operations, {}, rotate_chain});
  const auto fp = [&](const char* what, double flops_each, void (*run)()) {
    out.push_back({CounterQuantity::kFpOps, std::string("FLOPs of ") + what, operations * flops_each, {}, run});
  };
  fp("scalar additions in f32", 1, add_scalar_f32);
  fp("scalar additions in f64", 1, add_scalar_f64);
  fp("128-bit fused multiply-adds in f32", 8, fma_128_f32);
  fp("128-bit fused multiply-adds in f64", 4, fma_128_f64);
}

void add_line_fills(std::vector<CheckKernel>& /*out*/, std::int64_t /*line_bytes*/) {}

#else

void add_arithmetic(std::vector<CheckKernel>& /*out*/) {}

void add_line_fills(std::vector<CheckKernel>& /*out*/, std::int64_t /*line_bytes*/) {}

#endif

} // namespace

std::vector<CheckKernel> check_kernels(std::int64_t line_bytes) {
  std::vector<CheckKernel> out;
  add_arithmetic(out);
  if (line_bytes > 0)
    add_line_fills(out, line_bytes);
  return out;
}

} // namespace attnprof::profilers
