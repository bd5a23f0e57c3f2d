#pragma once
#include <cstdint>
#include <string_view>

namespace attnprof::operators {

/// Element type of a tensor in memory. Arithmetic is done in f32 whatever the storage.
enum class DType { kF32, kBf16, kF16 };

constexpr std::int64_t size_bytes(DType dtype) {
  return dtype == DType::kF32 ? 4 : 2;
}

constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
  case DType::kF32: return "f32";
  case DType::kBf16: return "bf16";
  case DType::kF16: return "f16";
  }
  return "f32";
}

/// Throws Error(kUsage) for a name that is none of f32, bf16, f16.
DType dtype_from_name(std::string_view name);

} // namespace attnprof::operators
