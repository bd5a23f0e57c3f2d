// Kernels that do nothing but saturate one unit of the machine. Compiled once per instruction set; kept free of library
// templates, whose code the linker would share between instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attnprof::profilers {

/// A loop of independent operations that touches no memory beyond the first-level cache.
struct ComputeProbe {
  const char* unit;          ///< fma, fma_add, bf16_dot or exp
  const char* dtype;         ///< of the operands: f32, f64 or bf16
  double work_per_iteration; ///< floating-point operations, for exp: exponentials
  void (*run)(std::int64_t iterations);
  const char* needs; ///< a feature beyond the instruction set that must be there at run time, or null
};

/// Passes over arrays of `count` floats, 64-byte aligned, `count` a multiple of 128, repeated `repeats` times.
/// Null where the instruction set has no non-temporal stores.
struct BandwidthProbes {
  void (*read)(const float* a, std::size_t count, std::int64_t repeats);
  void (*write)(float* a, std::size_t count, std::int64_t repeats);
  void (*write_nt)(float* a, std::size_t count, std::int64_t repeats);
  void (*copy)(float* a, const float* b, std::size_t count, std::int64_t repeats);
  void (*copy_nt)(float* a, const float* b, std::size_t count, std::int64_t repeats);
  void (*triad)(float* a, const float* b, const float* c, std::size_t count, std::int64_t repeats);
  void (*triad_nt)(float* a, const float* b, const float* c, std::size_t count, std::int64_t repeats);
};

struct ProbeTable {
  const char* isa; ///< baseline, avx2 or avx512
  const ComputeProbe* compute;
  std::size_t compute_count;
  BandwidthProbes bandwidth;
  /// The exponential that the exp probe repeats: out[i] = e^in[i], `count` a multiple of 64.
  void (*exponential)(const float* in, float* out, std::size_t count);
};

} // namespace attnprof::profilers
