#pragma once
#include "operators/core/param.hpp"

namespace attnprof::operators {

/// What matrix products of f32 tensors multiply in. tf32 rounds both factors to the 11 significant bits that the tensor
/// cores of NVIDIA GPUs take since compute capability 8.0, and adds in f32. It is used where it was asked for, never
/// unasked.
enum class ProductMath { kF32, kTf32 };

constexpr std::string_view name_of(ProductMath math) {
  return math == ProductMath::kTf32 ? "tf32" : "f32";
}

/// Of a resolved or recorded configuration; f32 where it does not say.
ProductMath product_math_of(const Config& config);

/// The dtype whose peak the matrix products of a configuration are held against: that in memory, or tf32.
std::string product_dtype_of(const Config& config);

/// Throws Error(kInvalid) where tf32 is asked of tensors that are not f32.
void check_product_math(const Config& resolved);

} // namespace attnprof::operators
