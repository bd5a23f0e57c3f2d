#include "profilers/isa/probe_compute.hpp"
#include "profilers/isa/probe_vector.hpp"
#include "profilers/probe_kernels.hpp"

namespace attnprof::profilers::ATTNPROF_ISA {
namespace {

constexpr std::size_t kLane = static_cast<std::size_t>(kFloats);

ATTNPROF_INLINE void memory_changes() {
  asm volatile("" : : : "memory");
}

template <bool kNonTemporal>
ATTNPROF_INLINE void drain_stores() {
#if defined(__SSE2__)
  if constexpr (kNonTemporal)
    _mm_sfence();
#endif
  memory_changes();
}

void read(const float* a, std::size_t count, std::int64_t repeats) {
  // Eight sums: two additions a cycle of up to four cycles latency.
  Floats sums[8] = {};
  for (std::int64_t pass = 0; pass < repeats; ++pass) {
    for (std::size_t i = 0; i < count; i += 8 * kLane) {
      sums[0] += load(a + i);
      sums[1] += load(a + i + kLane);
      sums[2] += load(a + i + 2 * kLane);
      sums[3] += load(a + i + 3 * kLane);
      sums[4] += load(a + i + 4 * kLane);
      sums[5] += load(a + i + 5 * kLane);
      sums[6] += load(a + i + 6 * kLane);
      sums[7] += load(a + i + 7 * kLane);
    }
    memory_changes();
  }
  for (Floats& sum : sums)
    keep(sum);
}

template <bool kNonTemporal>
void write(float* a, std::size_t count, std::int64_t repeats) {
  Floats value = splat(1.0F);
  keep(value);
  for (std::int64_t pass = 0; pass < repeats; ++pass) {
    for (std::size_t i = 0; i < count; i += 4 * kLane) {
      store<kNonTemporal>(a + i, value);
      store<kNonTemporal>(a + i + kLane, value);
      store<kNonTemporal>(a + i + 2 * kLane, value);
      store<kNonTemporal>(a + i + 3 * kLane, value);
    }
    drain_stores<kNonTemporal>();
  }
}

template <bool kNonTemporal>
void copy(float* a, const float* b, std::size_t count, std::int64_t repeats) {
  for (std::int64_t pass = 0; pass < repeats; ++pass) {
    for (std::size_t i = 0; i < count; i += 4 * kLane) {
      store<kNonTemporal>(a + i, load(b + i));
      store<kNonTemporal>(a + i + kLane, load(b + i + kLane));
      store<kNonTemporal>(a + i + 2 * kLane, load(b + i + 2 * kLane));
      store<kNonTemporal>(a + i + 3 * kLane, load(b + i + 3 * kLane));
    }
    drain_stores<kNonTemporal>();
  }
}

template <bool kNonTemporal>
void triad(float* a, const float* b, const float* c, std::size_t count, std::int64_t repeats) {
  Floats scale = splat(3.0F);
  keep(scale);
  for (std::int64_t pass = 0; pass < repeats; ++pass) {
    for (std::size_t i = 0; i < count; i += 2 * kLane) {
      store<kNonTemporal>(a + i, fma(scale, load(c + i), load(b + i)));
      store<kNonTemporal>(a + i + kLane, fma(scale, load(c + i + kLane), load(b + i + kLane)));
    }
    drain_stores<kNonTemporal>();
  }
}

constexpr ComputeProbe kCompute[] = {
    {"fma", "f32", kFmaWorkF32, run_fma<Floats>, nullptr},
    {"fma", "f64", kFmaWorkF64, run_fma<Doubles>, nullptr},
    {"exp", "f32", static_cast<double>(kExpCount), run_exp, nullptr},
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    {"fma_add", "f32", kMixedWork, run_fma_add, nullptr},
#endif
#if defined(__AVX512F__)
    {"bf16_dot", "bf16", kBf16Work, run_bf16_dot, "avx512bf16"},
#endif
};

#if defined(__SSE2__)
constexpr BandwidthProbes kBandwidth{read,       write<false>, write<true>, copy<false>,
                                     copy<true>, triad<false>, triad<true>};
#else
constexpr BandwidthProbes kBandwidth{read, write<false>, nullptr, copy<false>, nullptr, triad<false>, nullptr};
#endif

#define ATTNPROF_NAME_OF(isa) #isa
#define ATTNPROF_NAME(isa) ATTNPROF_NAME_OF(isa)
constexpr ProbeTable kTable{ATTNPROF_NAME(ATTNPROF_ISA), kCompute, sizeof(kCompute) / sizeof(kCompute[0]), kBandwidth,
                            exponential};

} // namespace

const ProbeTable& probe_table() {
  return kTable;
}

} // namespace attnprof::profilers::ATTNPROF_ISA
