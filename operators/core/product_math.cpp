#include "operators/core/product_math.hpp"

#include "operators/core/error.hpp"

#include <fmt/format.h>

namespace attnprof::operators {

ProductMath product_math_of(const Config& config) {
  const auto* math = std::get_if<std::string>(&config.get("math"));
  return math != nullptr && *math == name_of(ProductMath::kTf32) ? ProductMath::kTf32 : ProductMath::kF32;
}

std::string product_dtype_of(const Config& config) {
  const auto* dtype = std::get_if<std::string>(&config.get("dtype"));
  const std::string stored = dtype == nullptr ? "f32" : *dtype;
  return stored == "f32" ? std::string(name_of(product_math_of(config))) : stored;
}

void check_product_math(const Config& resolved) {
  if (product_math_of(resolved) == ProductMath::kTf32 && resolved.text("dtype") != "f32") {
    throw Error(
        ErrorKind::kInvalid,
        fmt::format("--math tf32 is a way to multiply f32 tensors, and these are {}: use --math f32, or --dtype "
                    "f32",
                    resolved.text("dtype")));
  }
}

} // namespace attnprof::operators
