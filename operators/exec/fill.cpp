#include "operators/exec/fill.hpp"

#include "operators/core/error.hpp"

#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace attnprof::operators {
namespace {

std::uint64_t splitmix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::uint64_t hash_of(const std::string& name) { // FNV-1a: std::hash may differ between libraries
  std::uint64_t out = 0xcbf29ce484222325ULL;
  for (const char c : name) {
    out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return out;
}

std::vector<float> rope_table(const Tensor& tensor) {
  const std::int64_t tokens = tensor.dims[0];
  const std::int64_t half = tensor.dims[1] / 2;
  std::vector<float> out(static_cast<std::size_t>(tokens * half * 2));
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(tensor.position + t) *
                           std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
      out[static_cast<std::size_t>(t * 2 * half + i)] = static_cast<float>(std::cos(angle));
      out[static_cast<std::size_t>(t * 2 * half + half + i)] = static_cast<float>(std::sin(angle));
    }
  }
  return out;
}

double spread_of(const Tensor& tensor) {
  if (tensor.role != TensorRole::kWeight || tensor.dims.size() < 2) {
    return 1.0;
  }
  // [.., in, out]: the fan-in is the size before the last; [channels, side, side] is a depthwise kernel. A third of the
  // variance that would keep a product's scale leaves room for the residual sums of many blocks.
  const bool square = tensor.dims.size() == 3 && tensor.dims[1] == tensor.dims[2];
  const std::int64_t fan_in = square ? tensor.dims[1] * tensor.dims[2] : tensor.dims.back(1);
  return std::sqrt(1.0 / static_cast<double>(fan_in));
}

} // namespace

std::vector<float> fill_values(const Tensor& tensor, std::uint64_t seed) {
  if (tensor.fill == Fill::kRopeTable) {
    return rope_table(tensor);
  }
  if (tensor.fill == Fill::kValues) {
    if (!tensor.values) {
      throw Error(ErrorKind::kInvalid, fmt::format("the table '{}' of {} values is too long to be kept or to name its "
                                                   "rows exactly: such a case can be counted, but not run; use smaller "
                                                   "sizes",
                                                   tensor.name, tensor.elements().value()));
    }
    return *tensor.values;
  }
  std::uint64_t state = seed * 0x2545f4914f6cdd1dULL ^ hash_of(tensor.name);
  std::vector<float> out(static_cast<std::size_t>(tensor.elements().value()));
  const double spread = spread_of(tensor);
  for (float& value : out) {
    const double unit = static_cast<double>(splitmix(state) >> 11) * 0x1.0p-53;
    value = static_cast<float>((2.0 * unit - 1.0) * spread);
  }
  return out;
}

namespace {

/// Half precision by scaling: ldexp keeps the 11 significant bits, subnormals below 2^-14 keep a fixed step.
float round_to_f16(float value) {
  if (!std::isfinite(value) || value == 0.0F) {
    return value;
  }
  const int exponent = std::max(std::ilogb(value), -14);
  const float step = std::ldexp(1.0F, exponent - 10);
  const float rounded = std::nearbyint(value / step) * step;
  return std::abs(rounded) >= 65520.0F ? std::copysign(INFINITY, value) : rounded;
}

} // namespace

float round_to(DType dtype, float value) {
  switch (dtype) {
  case DType::kF32: return value;
  case DType::kF16: return round_to_f16(value);
  case DType::kBf16: break;
  }
  if (std::isnan(value)) {
    return value;
  }
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  bits = (bits + 0x7fffU + ((bits >> 16U) & 1U)) & 0xffff0000U;
  return std::bit_cast<float>(bits);
}

} // namespace attnprof::operators
