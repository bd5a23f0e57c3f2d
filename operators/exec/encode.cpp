#include "operators/exec/encode.hpp"

#include "operators/exec/fill.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace attnprof::operators {
namespace {

/// Bits of a value that half precision holds exactly.
std::uint16_t f16_bits(float value) {
  const unsigned sign = std::signbit(value) ? 0x8000U : 0U;
  if (std::isnan(value)) {
    return 0x7e00U;
  }
  if (std::isinf(value)) {
    return static_cast<std::uint16_t>(sign | 0x7c00U);
  }
  const float size = std::abs(value);
  const int exponent = size < 0x1p-14F ? -14 : std::ilogb(size);
  // The implicit bit adds one to the exponent field by itself; subnormals lack it.
  const auto units = static_cast<unsigned>(std::ldexp(size, 10 - exponent));
  return static_cast<std::uint16_t>(sign | (static_cast<unsigned>(exponent + 14) * 1024U + units));
}

float f16_value(std::uint16_t bits) {
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  const int exponent = bits >> 10U & 31U;
  const auto fraction = static_cast<float>(bits & 1023U);
  if (exponent == 31) {
    return fraction == 0.0F ? sign * INFINITY : NAN;
  }
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024.0F + fraction, exponent - 25));
}

} // namespace

void encode(DType dtype, std::span<const float> values, std::span<std::byte> bytes) {
  if (dtype == DType::kF32) {
    std::memcpy(bytes.data(), values.data(), values.size_bytes());
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float rounded = round_to(dtype, values[i]);
    const std::uint16_t bits = dtype == DType::kF16
                                   ? f16_bits(rounded)
                                   : static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16U);
    std::memcpy(bytes.data() + 2 * i, &bits, 2);
  }
}

void decode(DType dtype, std::span<const std::byte> bytes, std::span<float> values) {
  if (dtype == DType::kF32) {
    std::memcpy(values.data(), bytes.data(), values.size_bytes());
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + 2 * i, 2);
    values[i] = dtype == DType::kF16 ? f16_value(bits) : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  }
}

} // namespace attnprof::operators
