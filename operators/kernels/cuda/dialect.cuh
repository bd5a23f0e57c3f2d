#pragma once
#include "operators/kernels/gpu/args.hpp"

// What the kernels need of the language beside C++. nvcc compiles them for the device; the tests define the same names
// over an emulation of blocks, barriers and warps before they include a kernel, and compile the same source with the
// host's compiler.
#if defined(__CUDACC__)
#include <cuda_runtime.h>

#define ATTNPROF_UNROLL _Pragma("unroll")
#define ATTNPROF_UNROLL_TWICE _Pragma("unroll 2")
#define ATTNPROF_UNROLL_NOT _Pragma("unroll 1")
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

// Conversions are written out: the toolkit's headers for the two types take nvcc longer than some of these files.
__device__ __forceinline__ float f16_value(std::uint16_t bits) {
  float out = 0.0F;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(bits));
  return out;
}
__device__ __forceinline__ std::uint16_t f16_bits(float value) {
  std::uint16_t out = 0;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out) : "f"(value));
  return out;
}
__device__ __forceinline__ std::uint16_t bf16_bits(float value) {
  std::uint16_t out = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  const std::uint32_t bits = __float_as_uint(value);
  out = static_cast<std::uint16_t>((value == value ? bits + 0x7fffU + (bits >> 16U & 1U) : 0x7fffffffU) >> 16U);
#else
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out) : "f"(value));
#endif
  return out;
}
/// Two values as neighbours in one register.
template <bool kBf16>
__device__ __forceinline__ std::uint32_t packed_halves(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return kBf16 ? bf16_bits(low) | static_cast<std::uint32_t>(bf16_bits(high)) << 16U
               : f16_bits(low) | static_cast<std::uint32_t>(f16_bits(high)) << 16U;
#else
  std::uint32_t out = 0;
  if constexpr (kBf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  }
  return out;
#endif
}
__device__ __forceinline__ void copy_16_bytes(void* to, const void* from) {
  *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
}
__device__ __forceinline__ std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}
/// Four words from registers, as one store into device memory or into shared memory. Written out: the compiler takes
/// an assignment of sixteen bytes apart.
__device__ __forceinline__ void put_16_bytes(void* to, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                             std::uint32_t d) {
  asm volatile("st.global.v4.b32 [%0], {%1,%2,%3,%4};" ::"l"(__cvta_generic_to_global(to)), "r"(a), "r"(b), "r"(c),
               "r"(d)
               : "memory");
}
__device__ __forceinline__ void share_16_bytes(void* to, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                               std::uint32_t d) {
  asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(shared_address(to)), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

/// 2^x; 2^-inf is 0.
__device__ __forceinline__ float power_of_two(float x) {
  float out = 0.0F;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

// What follows needs compute capability 8.0. On older devices the planner never chooses the kernels that use it; they
// are compiled empty.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define ATTNPROF_SINCE_80(...) __VA_ARGS__
#else
#define ATTNPROF_SINCE_80(...)
#endif

/// The same value, of which the compiler knows nothing: what follows from it is computed anew.
__device__ __forceinline__ int unknown_value(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

/// From memory into shared memory, past the registers: there when wait_for_copies says so.
__device__ __forceinline__ void copy_16_bytes_later(void* to, const void* from) {
  ATTNPROF_SINCE_80(asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from)
                                 : "memory"));
}
/// Ends a group of copies.
__device__ __forceinline__ void commit_copies() {
  ATTNPROF_SINCE_80(asm volatile("cp.async.commit_group;" ::: "memory"));
}
/// Until all of this thread's groups but the last kOpen have arrived.
template <int kOpen>
__device__ __forceinline__ void wait_for_copies() {
  ATTNPROF_SINCE_80(asm volatile("cp.async.wait_group %0;" ::"n"(kOpen) : "memory"));
}

/// d += a b for one 16 x 8 tile of a warp with inner size 16, fragments as in the PTX manual, mma.m16n8k16.
template <bool kBf16>
__device__ __forceinline__ void multiply_tile(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                              std::uint32_t b1) {
  if constexpr (kBf16) {
    ATTNPROF_SINCE_80(
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)));
  } else {
    ATTNPROF_SINCE_80(
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)));
  }
}

/// Four 8 x 8 matrices of 16-bit values from shared memory. Lane l gives the address of row l % 8 of matrix l / 8 and
/// gets, of each, the values of row l / 4 in columns l % 4 * 2 and the next; transposed: of column l / 4 in rows
/// l % 4 * 2 and the next.
__device__ __forceinline__ void load_matrices(std::uint32_t (&out)[4], const std::uint16_t* row) {
  ATTNPROF_SINCE_80(asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                                 : "r"(shared_address(row))));
}
__device__ __forceinline__ void load_matrices_transposed(std::uint32_t (&out)[4], const std::uint16_t* row) {
  ATTNPROF_SINCE_80(asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                                 : "r"(shared_address(row))));
}

} // namespace attnprof::operators::gpu
#endif
