#pragma once
#include "operators/core/dtype.hpp"

#include <cstddef>
#include <span>

namespace attnprof::operators {

/// Writes values in the dtype, rounded to nearest even; `bytes` holds size_bytes(dtype) for each.
void encode(DType dtype, std::span<const float> values, std::span<std::byte> bytes);
/// The other way about, without rounding.
void decode(DType dtype, std::span<const std::byte> bytes, std::span<float> values);

} // namespace attnprof::operators
