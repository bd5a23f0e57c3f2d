#pragma once
#include "operators/core/op.hpp"

namespace attnprof::operators {

/// What a launch computes, counted exactly. One multiply-add is one MAC and two FLOPs.
struct Work {
  Count macs = 0;            ///< executed multiply-adds of matrix products and convolutions
  Count useful_macs = 0;     ///< of which attended pairs and in-bounds taps
  Count vector_flops = 0;    ///< everything else, one each
  Count transcendentals = 0; ///< of the vector FLOPs: exp, erf, tanh, sigmoid, rsqrt, sin, cos

  [[nodiscard]] Count matmul_flops() const { return macs * 2; }
  [[nodiscard]] Count flops() const { return matmul_flops() + vector_flops; }
  Work& operator+=(const Work& other) {
    macs += other.macs;
    useful_macs += other.useful_macs;
    vector_flops += other.vector_flops;
    transcendentals += other.transcendentals;
    return *this;
  }
  friend bool operator==(const Work&, const Work&) = default;
};

/// The only place where FLOP formulas stand. Throws Error(kOverflow) where a count does not fit 64 bits.
Work work_of(const Primitive& primitive);

} // namespace attnprof::operators
