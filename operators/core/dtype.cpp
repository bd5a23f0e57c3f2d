#include "operators/core/dtype.hpp"

#include "operators/core/error.hpp"

#include <fmt/format.h>

namespace attnprof::operators {

DType dtype_from_name(std::string_view name) {
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
    if (name_of(dtype) == name) {
      return dtype;
    }
  }
  throw Error(ErrorKind::kUsage, fmt::format("dtype '{}' is not known; choose f32, bf16 or f16", name));
}

} // namespace attnprof::operators
