#pragma once
#include "operators/kernels/cuda/dialect.cuh"

// Elements of any dtype, one or kWide at a time, and the element-wise steps on them.
namespace attnprof::operators::gpu {

constexpr unsigned kAllLanes = 0xffffffffU;

__device__ __forceinline__ float bf16_value(std::uint16_t bits) {
  return __uint_as_float(static_cast<std::uint32_t>(bits) << 16U);
}

/// To the nearest value of 11 significant bits, ties away from zero, as cvt.rna.tf32 does.
__device__ __forceinline__ float tf32_value(float x) {
  const bool finite = fabsf(x) <= 3.40282347e38F;
  return finite ? __uint_as_float((__float_as_uint(x) + 0x1000U) & 0xffffe000U) : x;
}

__device__ __forceinline__ float load(const Operand& from, std::int64_t at) {
  if (from.dtype == DType::kF32) {
    return reinterpret_cast<const float*>(from.address)[at];
  }
  const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(from.address)[at];
  return from.dtype == DType::kBf16 ? bf16_value(bits) : f16_value(bits);
}

__device__ __forceinline__ std::uint16_t half_bits(DType dtype, float value) {
  return dtype == DType::kBf16 ? bf16_bits(value) : f16_bits(value);
}

__device__ __forceinline__ void store(const Operand& to, std::int64_t at, float value) {
  if (to.dtype == DType::kF32) {
    reinterpret_cast<float*>(to.address)[at] = value;
  } else {
    reinterpret_cast<std::uint16_t*>(to.address)[at] = half_bits(to.dtype, value);
  }
}

/// kWidth neighbours: aligned and `inner` 1, or `inner` 0 for one value in all places.
template <int kWidth>
__device__ __forceinline__ void load_wide(float (&out)[kWidth], const Operand& from, std::int64_t at,
                                          std::int64_t inner) {
  if constexpr (kWidth == 1) {
    out[0] = load(from, at);
  } else if (inner == 0) {
    const float value = load(from, at);
    ATTNPROF_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      out[i] = value;
    }
  } else if (from.dtype == DType::kF32) {
    const float* values = reinterpret_cast<const float*>(from.address) + at;
    copy_16_bytes(out, values);
    copy_16_bytes(out + 4, values + 4);
  } else {
    alignas(16) std::uint16_t bits[kWidth];
    copy_16_bytes(bits, reinterpret_cast<const std::uint16_t*>(from.address) + at);
    ATTNPROF_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      out[i] = from.dtype == DType::kBf16 ? bf16_value(bits[i]) : f16_value(bits[i]);
    }
  }
}

template <int kWidth>
__device__ __forceinline__ void store_wide(const Operand& to, std::int64_t at, const float (&in)[kWidth]) {
  if constexpr (kWidth == 1) {
    store(to, at, in[0]);
  } else if (to.dtype == DType::kF32) {
    ATTNPROF_UNROLL
    for (int i = 0; i < kWidth; i += 4) {
      put_16_bytes(reinterpret_cast<float*>(to.address) + at + i, __float_as_uint(in[i]), __float_as_uint(in[i + 1]),
                   __float_as_uint(in[i + 2]), __float_as_uint(in[i + 3]));
    }
  } else {
    std::uint32_t pairs[4] = {};
    ATTNPROF_UNROLL
    for (int i = 0; i < 4; ++i) {
      pairs[i] = to.dtype == DType::kBf16 ? packed_halves<true>(in[2 * i], in[2 * i + 1])
                                          : packed_halves<false>(in[2 * i], in[2 * i + 1]);
    }
    put_16_bytes(reinterpret_cast<std::uint16_t*>(to.address) + at, pairs[0], pairs[1], pairs[2], pairs[3]);
  }
}

/// Position in a space, from the flat position of a row-major walk.
struct Index {
  std::int64_t at[kMaxRank];
};
__device__ __forceinline__ Index index_of(const Space& space, std::int64_t flat) {
  Index out;
  const bool small = flat < 0xffffffffLL; // 32-bit divisions take a quarter of the time
  ATTNPROF_UNROLL
  for (int d = kMaxRank - 1; d >= 0; --d) {
    out.at[d] = 0;
    if (d < space.rank) {
      const std::int64_t size = space.dims[d];
      std::int64_t rest = 0;
      if (small && size < 0xffffffffLL) {
        rest = static_cast<std::uint32_t>(flat) / static_cast<std::uint32_t>(size);
      } else {
        rest = flat / size;
      }
      out.at[d] = flat - rest * size;
      flat = rest;
    }
  }
  return out;
}
__device__ __forceinline__ std::int64_t place_of(const Operand& operand, const Index& index, int rank) {
  std::int64_t out = 0;
  ATTNPROF_UNROLL
  for (int d = 0; d < kMaxRank; ++d) {
    if (d < rank) {
      out += index.at[d] * operand.strides[d];
    }
  }
  return out;
}

/// index.at[d] of a dimension that is not known when compiling, 0 before the first: an array indexed by it would lie in
/// memory.
__device__ __forceinline__ std::int64_t position(const Index& index, int d) {
  std::int64_t out = 0;
  ATTNPROF_UNROLL
  for (int i = 0; i < kMaxRank; ++i) {
    out += i == d ? index.at[i] : 0;
  }
  return out;
}

/// Keys [first_key, end_key) that query i attends to, as operators::Mask defines them for a mask that drops anything.
template <class Int>
__device__ __forceinline__ Int clamped(Int value, Int high) {
  return value < 0 ? 0 : value > high ? high : value;
}
template <class Int>
__device__ __forceinline__ Int first_key(Int window, Int i, Int queries, Int keys) {
  return window > 0 ? clamped<Int>(i + keys - queries + 1 - window, keys) : 0;
}
template <class Int>
__device__ __forceinline__ Int end_key(Int i, Int queries, Int keys) {
  return clamped<Int>(i + keys - queries + 1, keys);
}

__device__ __forceinline__ float sigmoid_of(float x) {
  return 1.0F / (1.0F + expf(-x));
}

/// x[i] = f(x[i], operand[i], whether a mask keeps it): the step is chosen once for all neighbours.
template <int kWidth, class F>
__device__ __forceinline__ void for_each_neighbour(float (&x)[kWidth], F f) {
  ATTNPROF_UNROLL
  for (int i = 0; i < kWidth; ++i) {
    x[i] = f(x[i], i);
  }
}

/// One step on kWidth neighbours; those in [first, end) are attended to where it is a mask.
template <int kWidth>
__device__ __forceinline__ void apply_step(float (&x)[kWidth], const StepArgs& step, const float (&operand)[kWidth],
                                           std::int64_t first, std::int64_t end) {
  const auto each = [&](auto f) { for_each_neighbour<kWidth>(x, f); };
  const auto attended = [&](int i) { return !step.masked || (i >= first && i < end); };
  switch (step.fn) {
  case StepFn::kScale: return each([&](float v, int) { return v * step.value; });
  case StepFn::kAdd: return each([&](float v, int i) { return v + operand[i]; });
  case StepFn::kMul: return each([&](float v, int i) { return v * operand[i]; });
  case StepFn::kRelu: return each([](float v, int) { return fmaxf(v, 0.0F); });
  case StepFn::kGelu: return each([](float v, int) { return 0.5F * (v * (1.0F + erff(v * 0.70710678118654752440F))); });
  case StepFn::kSilu: return each([](float v, int) { return v * sigmoid_of(v); });
  case StepFn::kSigmoid: return each([](float v, int) { return sigmoid_of(v); });
  case StepFn::kMaskFill: return each([&](float v, int i) { return attended(i) ? v : -INFINITY; });
  case StepFn::kMaskZero: return each([&](float v, int i) { return attended(i) ? v : 0.0F; });
  case StepFn::kSquare: return each([](float v, int) { return v * v; });
  case StepFn::kExp: return each([](float v, int) { return expf(v); });
  case StepFn::kEluPlusOne: return each([](float v, int) { return expf(fminf(v, 0.0F)) + fmaxf(v, 0.0F); });
  case StepFn::kDivide: return each([&](float v, int i) { return v / operand[i]; });
  case StepFn::kTanh: return each([](float v, int) { return tanhf(v); });
  case StepFn::kGeluTanh:
    return each([](float v, int) {
      return 0.5F * (v * (1.0F + tanhf(0.79788456080286535588F * (v + 0.044715F * (v * v * v)))));
    });
  }
}

/// All steps on kWidth neighbours that begin at `index`; the last two positions of it are query and key.
template <int kWidth>
__device__ __forceinline__ void apply_steps(float (&x)[kWidth], const StepList& list, const Index& index, int rank) {
  for (int s = 0; s < list.count; ++s) {
    const StepArgs& step = list.steps[s];
    alignas(16) float operand[kWidth] = {};
    if (step.operand.address != nullptr) {
      load_wide<kWidth>(operand, step.operand, place_of(step.operand, index, rank),
                        rank > 0 ? step.operand.strides[rank - 1] : 0);
    }
    std::int64_t first = 0;
    std::int64_t end = 0;
    if (step.masked) {
      const std::int64_t query = position(index, rank - 2);
      const std::int64_t key = position(index, rank - 1);
      first = first_key(step.window, query, list.queries, list.keys) - key;
      end = end_key(query, list.queries, list.keys) - key;
    }
    apply_step<kWidth>(x, step, operand, first, end);
  }
}

} // namespace attnprof::operators::gpu
