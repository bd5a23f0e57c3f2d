#include "operators/exec/tolerance.hpp"

#include "operators/core/io.hpp"
#include "operators/core/work.hpp"

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

namespace attnprof::operators {
namespace {

/// Largest relative rounding error of a stored value.
double unit_roundoff(DType dtype) {
  switch (dtype) {
  case DType::kF32: return std::ldexp(1.0, -24);
  case DType::kF16: return std::ldexp(1.0, -11);
  case DType::kBf16: return std::ldexp(1.0, -8);
  }
  return 0.0;
}

/// Terms of the longest sum that a launch makes.
double terms_of(const Primitive& primitive) {
  if (const auto* product = std::get_if<MatMul>(&primitive)) {
    return static_cast<double>(product->a.dims.back());
  }
  if (const auto* attention = std::get_if<Attention>(&primitive)) {
    return static_cast<double>(attention->q.dims.back() + attention->k.dims[2]);
  }
  return 1.0;
}

double square(double x) {
  return x * x;
}

/// Mean square error that a launch adds to the values that it writes in `dtype`.
double variance_of(const Primitive& primitive, DType dtype, ProductMath math) {
  const double roundings = std::holds_alternative<Attention>(primitive) ? 2.0 : 1.0;
  const double functions = work_of(primitive).transcendentals.value() > 0 ? square(4.0) : 0.0;
  const bool tf32 = math == ProductMath::kTf32 && std::holds_alternative<MatMul>(primitive);
  const double factors = tf32 ? 2.0 * square(std::ldexp(1.0, -11)) : 0.0;
  return factors + roundings * square(unit_roundoff(dtype)) +
         (terms_of(primitive) + functions) * square(unit_roundoff(DType::kF32));
}

} // namespace

double tolerance_of(const Graph& launches, ProductMath math) {
  constexpr double kMargin = 3.0;
  constexpr double kLeastF32 = 5e-5;
  // What goes in was rounded too, for the reference as well as for the launches: it adds nothing.
  std::vector<double> variances(launches.tensors.size(), 0.0);
  double worst = 0.0;
  for (const Op& launch : launches.ops) {
    const Io io = io_of(launch.primitive);
    double before = 0.0;
    for (const View& view : io.reads) {
      before = std::max(before, variances[static_cast<std::size_t>(view.tensor)]);
    }
    for (const View& view : io.writes) {
      double& variance = variances[static_cast<std::size_t>(view.tensor)];
      variance = std::max(variance, before + variance_of(launch.primitive, launches.tensor(view.tensor).dtype, math));
      worst = std::max(worst, variance);
    }
  }
  return std::max(kMargin * std::sqrt(worst), kLeastF32);
}

} // namespace attnprof::operators
