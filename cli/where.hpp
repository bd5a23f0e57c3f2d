// Conditions over the parameters of a case, as in --where "kv_heads<=heads && dim%heads==0". Pure.
#pragma once

#include "operators/core/param.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace attnprof::cli {

/// A parsed and type-checked condition.
///
/// Whole numbers (suffix k = 1024), decimal numbers, true, false, 'text' and parameter names; + - * / % (whole numbers
/// divide to whole numbers), == != < <= > >=, ! && ||, parentheses, with the precedences of C.
/// A comparison with a parameter that a case does not have is undecided, and an undecided condition keeps the case: a
/// condition on kv_heads says nothing about a workload without kv_heads.
class Where {
 public:
  /// Throws Error(kUsage) whose second line is a caret under the place that cannot be read.
  Where(std::string_view text, std::span<const operators::ParamSpec> params);
  ~Where();
  Where(Where&&) noexcept;
  Where& operator=(Where&&) noexcept;

  /// Whether the case stays. Throws Error(kUsage) on a division by zero or a product that does not fit 64 bits.
  [[nodiscard]] bool keeps(const operators::Config& config) const;

  struct Node;

 private:
  std::string text_;
  std::unique_ptr<Node> root_;
};

} // namespace attnprof::cli
