#include "operators/core/count.hpp"

#include <fmt/format.h>

namespace attnprof::operators {

void Count::throw_overflow(std::int64_t a, char op, std::int64_t b) {
  throw Error(ErrorKind::kOverflow, fmt::format("a count is too large: {} {} {} does not fit in a 64-bit integer "
                                                "(overflow); choose smaller sizes",
                                                a, op, b));
}

} // namespace attnprof::operators
