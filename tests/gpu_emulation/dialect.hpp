// The names of CUDA that the kernels use, over the emulation of blocks. Included before a kernel's source, in place of
// the toolkit's headers.
#pragma once
#include "operators/kernels/gpu/args.hpp"
#include "tests/gpu_emulation/block.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define ATTNPROF_UNROLL
#define ATTNPROF_UNROLL_TWICE
#define ATTNPROF_UNROLL_NOT
#define ATTNPROF_PARAMETER const
#define ATTNPROF_SHARED(type, name)                                                                                    \
  type* name = reinterpret_cast<type*>(::attnprof::tests::emulation::shared_memory()) // NOLINT
#define ATTNPROF_LAUNCH(kernel, grid, block, shared_bytes, stream, args)                                               \
  ::attnprof::tests::emulation::run_grid(grid, block, shared_bytes, false, [&] { kernel(args); });                     \
  static_cast<void>(stream)
#define ATTNPROF_LAUNCH_FLAT(kernel, grid, block, stream, args)                                                        \
  ::attnprof::tests::emulation::run_grid(grid, block, 0, true, [&] { kernel(args); });                                 \
  static_cast<void>(stream)
#define ATTNPROF_ALLOW_SHARED(kernel, bytes) static_cast<void>(bytes)

#define threadIdx (::attnprof::tests::emulation::current().thread)
#define blockIdx (::attnprof::tests::emulation::current().block)
#define blockDim (::attnprof::tests::emulation::current().block_dim)
#define gridDim (::attnprof::tests::emulation::current().grid_dim)

namespace attnprof::operators::gpu {

using Stream = void*;
using dim3 = tests::emulation::Dim3;
using std::fmaxf;
using std::fminf;

inline void __syncthreads() { // NOLINT
  tests::emulation::wait_for_block();
}

inline void __syncwarp() { // NOLINT
  tests::emulation::wait_for_warp();
}

inline float __shfl_xor_sync(unsigned /*lanes*/, float value, int distance) { // NOLINT
  tests::emulation::show({{std::bit_cast<std::uint32_t>(value)}});
  const unsigned lane = tests::emulation::current().flat % 32;
  const std::uint32_t word = tests::emulation::shown_by(lane ^ static_cast<unsigned>(distance)).words[0];
  tests::emulation::wait_for_warp(); // nobody shows the next value before all have read this one
  return std::bit_cast<float>(word);
}

inline float __uint_as_float(std::uint32_t bits) { // NOLINT
  return std::bit_cast<float>(bits);
}

inline std::uint32_t __float_as_uint(float value) { // NOLINT
  return std::bit_cast<std::uint32_t>(value);
}

inline std::uint16_t bf16_bits(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (!std::isnan(value)) {
    bits += 0x7fffU + ((bits >> 16U) & 1U);
  }
  return static_cast<std::uint16_t>(bits >> 16U);
}

inline float f16_value(std::uint16_t bits) {
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  const int exponent = bits >> 10U & 31U;
  const auto fraction = static_cast<float>(bits & 1023U);
  if (exponent == 31) {
    return fraction == 0.0F ? sign * INFINITY : NAN;
  }
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024.0F + fraction, exponent - 25));
}

inline std::uint16_t f16_bits(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000U : 0U);
  const float size = std::abs(value);
  if (std::isnan(value)) {
    return 0x7e00U;
  }
  if (size >= 65520.0F) {
    return static_cast<std::uint16_t>(sign | 0x7c00U);
  }
  // In units of the last place; a carry out of the fraction raises the exponent by itself.
  const int exponent = size < 0x1p-14F ? -14 : std::ilogb(size);
  const auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return static_cast<std::uint16_t>(sign | (static_cast<unsigned>(exponent + 14) * 1024U + units));
}

inline void copy_16_bytes(void* to, const void* from) {
  std::memcpy(to, from, 16);
}
inline void put_16_bytes(void* to, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  tests::emulation::require_aligned(to, 16);
  const std::uint32_t words[] = {a, b, c, d};
  std::memcpy(to, words, 16);
}
inline void share_16_bytes(void* to, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  put_16_bytes(to, a, b, c, d);
}
template <bool kBf16>
std::uint32_t packed_halves(float low, float high) {
  const auto bits = [](float value) -> std::uint32_t { return kBf16 ? bf16_bits(value) : f16_bits(value); };
  return bits(low) | bits(high) << 16U;
}
inline float power_of_two(float x) {
  return std::exp2(x);
}

inline int unknown_value(int value) {
  return value;
}

/// Asynchronous copies are made when they are waited for, so that reading earlier shows.
inline void copy_16_bytes_later(void* to, const void* from) {
  tests::emulation::copy_later(to, from, 16);
}
inline void commit_copies() {
  tests::emulation::commit_copies();
}
template <int kOpen>
void wait_for_copies() {
  tests::emulation::wait_for_copies(kOpen);
}

/// mma.m16n8k16 as the PTX manual lays its fragments out over the lanes of a warp.
template <bool kBf16>
void multiply_tile(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  using tests::emulation::shown_by;
  tests::emulation::show({{a[0], a[1], a[2], a[3], b0, b1}});
  const unsigned lane = tests::emulation::current().flat % 32;
  const auto value = [](std::uint32_t word, unsigned half) {
    const auto bits = static_cast<std::uint16_t>(word >> (16U * half));
    return kBf16 ? __uint_as_float(static_cast<std::uint32_t>(bits) << 16U) : f16_value(bits);
  };
  for (unsigned e = 0; e < 4; ++e) {
    const unsigned row = lane / 4 + (e / 2) * 8;
    const unsigned column = lane % 4 * 2 + e % 2;
    for (unsigned k = 0; k < 16; ++k) {
      const unsigned quad = k % 8 / 2;
      const std::uint32_t left = shown_by(row % 8 * 4 + quad).words[row / 8 + k / 8 * 2];
      const std::uint32_t right = shown_by(column * 4 + quad).words[4 + k / 8];
      d[e] += value(left, k % 2) * value(right, k % 2);
    }
  }
  tests::emulation::wait_for_warp();
}

/// ldmatrix.x4: every lane shows the address of its row, and reads from those of others.
template <class Pick>
void load_matrices_as(std::uint32_t (&out)[4], const std::uint16_t* row, Pick pick) {
  const auto address = reinterpret_cast<std::uintptr_t>(row);
  tests::emulation::require_aligned(row, 16);
  tests::emulation::show({{static_cast<std::uint32_t>(address), static_cast<std::uint32_t>(address >> 32U)}});
  const unsigned lane = tests::emulation::current().flat % 32;
  const auto row_of = [](unsigned matrix, unsigned at) {
    const auto& words = tests::emulation::shown_by(matrix * 8 + at).words;
    return reinterpret_cast<const std::uint16_t*>(words[0] | static_cast<std::uintptr_t>(words[1]) << 32U);
  };
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    const auto [low, high] = pick(matrix, lane, row_of);
    out[matrix] = static_cast<std::uint32_t>(low) | static_cast<std::uint32_t>(high) << 16U;
  }
  tests::emulation::wait_for_warp();
}
inline void load_matrices(std::uint32_t (&out)[4], const std::uint16_t* row) {
  load_matrices_as(out, row, [](unsigned matrix, unsigned lane, const auto& row_of) {
    const std::uint16_t* values = row_of(matrix, lane / 4) + lane % 4 * 2;
    return std::pair(values[0], values[1]);
  });
}
inline void load_matrices_transposed(std::uint32_t (&out)[4], const std::uint16_t* row) {
  load_matrices_as(out, row, [](unsigned matrix, unsigned lane, const auto& row_of) {
    const unsigned first = lane % 4 * 2;
    return std::pair(row_of(matrix, first)[lane / 4], row_of(matrix, first + 1)[lane / 4]);
  });
}

} // namespace attnprof::operators::gpu
