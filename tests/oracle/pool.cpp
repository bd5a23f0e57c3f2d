#include "tests/support/catch.hpp"
#include "tests/support/naive.hpp"

using namespace attnprof::testing;

TEST_CASE("pool equals the mean of the neighbours inside the map minus the token") {
  for (const char* id : {"variant=pool:batch=2:grid=3x4:dim=5", "variant=pool:grid=4x4:dim=3:kernel=5"}) {
    for (const char* plan : {"eager", "fused"}) {
      INFO(id << " " << plan);
      const Case run(id, plan);
      const auto grid = run.config().grid();
      const std::int64_t reach = run.integer("kernel") / 2;
      const Matrix x = run.given("x");
      Matrix expected(x.rows, x.columns);
      for (std::size_t row = 0; row < x.rows; ++row) {
        const auto token = static_cast<std::int64_t>(row) % (grid.height * grid.width);
        const auto first = static_cast<std::int64_t>(row) - token;
        for (std::size_t c = 0; c < x.columns; ++c) {
          double total = 0.0;
          int taps = 0;
          for (std::int64_t i = token / grid.width - reach; i <= token / grid.width + reach; ++i) {
            for (std::int64_t j = token % grid.width - reach; j <= token % grid.width + reach; ++j) {
              if (i >= 0 && i < grid.height && j >= 0 && j < grid.width) {
                total += x(static_cast<std::size_t>(first + i * grid.width + j), c);
                ++taps;
              }
            }
          }
          expected(row, c) = total / taps - x(row, c);
        }
      }
      CHECK(difference(run.result("y"), expected) < 1e-12);
    }
  }
}
