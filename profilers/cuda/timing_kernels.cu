#include "profilers/cuda/timing_kernels.hpp"

namespace attnprof::profilers::cuda {
namespace {

__device__ __forceinline__ std::int64_t device_time_ns() {
  std::int64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void gate_kernel(volatile std::int32_t* released, volatile std::int32_t* expired, std::int64_t most_ns) {
  const std::int64_t begin = device_time_ns();
  while (*released == 0) {
    if (device_time_ns() - begin > most_ns) {
      *expired = 1;
      return;
    }
  }
}

constexpr int kThreads = 256;
constexpr int kChains = 8; // independent of each other, so that no unit waits for a result
constexpr int kSteps = 2048;
constexpr int kReadRounds = 64;

__global__ void multiply_add_kernel(float* sink) {
  float chains[kChains];
  const float factor = 1.0F + 1e-6F * static_cast<float>(threadIdx.x);
#pragma unroll
  for (int c = 0; c < kChains; ++c) {
    chains[c] = static_cast<float>(c) + factor;
  }
  for (int i = 0; i < kSteps; ++i) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) {
      chains[c] = fmaf(chains[c], factor, 0.5F);
    }
  }
  float sum = 0.0F;
#pragma unroll
  for (int c = 0; c < kChains; ++c) {
    sum += chains[c];
  }
  if (sum == -1.0F) { // never: all terms are positive
    sink[threadIdx.x] = sum;
  }
}

__global__ void exponential_kernel(float* sink) {
  float chains[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) {
    chains[c] = 1e-3F * static_cast<float>(c + static_cast<int>(threadIdx.x));
  }
  for (int i = 0; i < kSteps; ++i) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) {
      asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(chains[c]));
    }
  }
  float sum = 0.0F;
#pragma unroll
  for (int c = 0; c < kChains; ++c) {
    sum += chains[c];
  }
  if (sum == -1.0F) {
    sink[threadIdx.x] = sum;
  }
}

__global__ void read_kernel(const uint4* from, std::int64_t count, unsigned* sink) {
  unsigned sum = 0;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (int round = 0; round < kReadRounds; ++round) {
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
      // Past the first-level cache, which other threads' lines do not reach.
      uint4 value;
      asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                   : "l"(from + i));
      sum ^= value.x ^ value.y ^ value.z ^ value.w;
    }
  }
  if (sum == 0x12345678U) {
    sink[threadIdx.x] = sum;
  }
}

__global__ void copy_kernel(uint4* to, const uint4* from, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    to[i] = from[i];
  }
}

__global__ void fill_kernel(std::uint16_t* to, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    // Sign and fraction at random under a fixed exponent: about 2^-7 as bf16 and 2^-1 as f16.
    const auto random = static_cast<std::uint32_t>(i) * 2654435761U >> 16U;
    to[i] = static_cast<std::uint16_t>((random & 0x807FU) | 0x3C00U);
  }
}

} // namespace

std::int64_t start_multiply_adds(std::byte* sink, int blocks, CUstream_st* stream) {
  multiply_add_kernel<<<blocks, kThreads, 0, stream>>>(reinterpret_cast<float*>(sink));
  return static_cast<std::int64_t>(blocks) * kThreads * kChains * kSteps;
}

std::int64_t start_exponentials(std::byte* sink, int blocks, CUstream_st* stream) {
  exponential_kernel<<<blocks, kThreads, 0, stream>>>(reinterpret_cast<float*>(sink));
  return static_cast<std::int64_t>(blocks) * kThreads * kChains * kSteps;
}

std::int64_t start_reads(const std::byte* from, std::int64_t bytes, std::byte* sink, int blocks, CUstream_st* stream) {
  read_kernel<<<blocks, kThreads, 0, stream>>>(reinterpret_cast<const uint4*>(from), bytes / 16,
                                               reinterpret_cast<unsigned*>(sink));
  return bytes / 16 * 16 * kReadRounds;
}

void start_copy(std::byte* to, const std::byte* from, std::int64_t bytes, CUstream_st* stream) {
  copy_kernel<<<static_cast<unsigned>((bytes / 16 + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      reinterpret_cast<uint4*>(to), reinterpret_cast<const uint4*>(from), bytes / 16);
}

void start_fill(std::byte* to, std::int64_t bytes, CUstream_st* stream) {
  fill_kernel<<<4096, kThreads, 0, stream>>>(reinterpret_cast<std::uint16_t*>(to), bytes / 2);
}

void start_gate(volatile std::int32_t* released, volatile std::int32_t* expired, std::int64_t most_ns,
                CUstream_st* stream) {
  gate_kernel<<<1, 1, 0, stream>>>(released, expired, most_ns);
}

} // namespace attnprof::profilers::cuda
