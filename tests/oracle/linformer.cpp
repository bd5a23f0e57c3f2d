#include "tests/support/catch.hpp"
#include "tests/support/heads_oracle.hpp"

using namespace attnprof::testing;

TEST_CASE("linformer equals softmax attention on shortened keys and values") {
  for (const char* id : {"variant=linformer:batch=2:seq_len=5:dim=12:heads=3:projected_len=3",
                         "variant=linformer:seq_len=70:dim=8:heads=2:projected_len=4"}) {
    for (const char* plan : {"eager", "fused"}) {
      INFO(id << " " << plan);
      const Case run(id, plan);
      const double scale = 1.0 / std::sqrt(static_cast<double>(run.integer("head_dim")));
      CHECK(difference_by_heads(run, [&](const Matrix& q, const Matrix& k, const Matrix& v) {
              return attend(q, product(run.given("ek"), k), product(run.given("ev"), v), scale, no_mask());
            }) < 1e-10);
    }
  }
}
