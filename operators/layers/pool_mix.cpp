#include "operators/layers/pool_mix.hpp"

namespace attnprof::operators {

View build_pool_mix(GraphBuilder& builder, const View& x, std::int64_t kernel) {
  const View mean = builder.pool("pool", x, kernel, 1, kernel / 2);
  return builder.add("pool_minus", mean, builder.scale("negative", x, -1.0));
}

} // namespace attnprof::operators
