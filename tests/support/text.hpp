#pragma once
#include "operators/core/error.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <string_view>

namespace attnprof::tests {

inline bool mentions(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The sentence of the error that `function` throws; fails the test where it throws none.
template <class Function>
std::string refusal_of(const Function& function) {
  try {
    function();
  } catch (const operators::Error& error) {
    return error.what();
  }
  FAIL("nothing was thrown");
  return {};
}

} // namespace attnprof::tests
