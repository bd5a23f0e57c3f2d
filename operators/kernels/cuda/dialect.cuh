#pragma once
#include "operators/kernels/gpu/args.hpp"

// What the kernels need of the language beside C++. nvcc compiles them for the device; the tests define the same names
// over an emulation of blocks, barriers and warps before they include a kernel, and compile the same source with the
// host's compiler.
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define ATTNPROF_UNROLL _Pragma("unroll")
/// Parameters stay in constant memory although they are indexed.
#define ATTNPROF_PARAMETER const __grid_constant__
#define ATTNPROF_SHARED(type, name)                                                                                    \
  extern __shared__ __align__(16) unsigned char attnprof_shared_bytes[];                                               \
  type* name = reinterpret_cast<type*>(attnprof_shared_bytes)
/// Starts a kernel whose threads may wait for each other.
#define ATTNPROF_LAUNCH(kernel, grid, block, shared_bytes, stream, args)                                               \
  kernel<<<grid, block, shared_bytes, stream>>>(args)
/// Starts a kernel whose threads never wait for each other: the emulation then runs them one after another.
#define ATTNPROF_LAUNCH_FLAT(kernel, grid, block, stream, args) kernel<<<grid, block, 0, stream>>>(args)
#define ATTNPROF_ALLOW_SHARED(kernel, bytes)                                                                           \
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes))

namespace attnprof::operators::gpu {

using Stream = cudaStream_t;

__device__ __forceinline__ float f16_value(std::uint16_t bits) {
  return __half2float(__ushort_as_half(bits));
}
__device__ __forceinline__ std::uint16_t f16_bits(float value) {
  return __half_as_ushort(__float2half_rn(value));
}
__device__ __forceinline__ std::uint16_t bf16_bits(float value) {
  return __bfloat16_as_ushort(__float2bfloat16_rn(value));
}
__device__ __forceinline__ void copy_16_bytes(void* to, const void* from) {
  *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
}

/// Two neighbouring values as one register.
__device__ __forceinline__ std::uint32_t pair_at(const std::uint16_t* values) {
  return *reinterpret_cast<const std::uint32_t*>(values);
}

/// d += a b for one 16 x 8 tile of a warp with inner size 16, fragments as in the PTX manual, mma.m16n8k16.
template <bool kBf16>
__device__ __forceinline__ void multiply_tile(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  if constexpr (kBf16) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

/// The right factor of one tile from 16 rows of 8 values in shared memory, which lie row by row: rows are the inner
/// dimension, so the fragment is their transpose.
__device__ __forceinline__ void load_transposed(std::uint32_t (&b)[2], const std::uint16_t* tile, int stride) {
  const std::uint16_t* row = tile + (threadIdx.x % 16) * stride;
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(address));
}

} // namespace attnprof::operators::gpu
#endif
