#include "operators/core/builder.hpp"
#include "operators/core/plan.hpp"
#include "operators/exec/verify.hpp"
#include "operators/workload.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>

using namespace attnprof::operators;

namespace {

/// `launches` copies one after another.
Graph chain(DType dtype, int launches) {
  GraphBuilder b(dtype);
  View x = b.input("x", {4, 8});
  for (int i = 0; i < launches; ++i) {
    x = b.scale("scale" + std::to_string(i), x, 0.5);
  }
  b.mark_output(x, "y");
  return b.take();
}

} // namespace

TEST_CASE("tolerance: three times the root of the squared roundings of a chain", "[verify]") {
  const double u = std::ldexp(1.0, -8);
  CHECK(tolerance_of(chain(DType::kBf16, 1)) == Catch::Approx(3.0 * u).epsilon(1e-6));
  CHECK(tolerance_of(chain(DType::kBf16, 9)) == Catch::Approx(9.0 * u).epsilon(1e-6));
  CHECK(tolerance_of(chain(DType::kF16, 9)) == Catch::Approx(9.0 * std::ldexp(1.0, -11)).epsilon(1e-4));
  CHECK(tolerance_of(chain(DType::kF32, 9)) == 5e-5); // sums of mixed signs
}

TEST_CASE("tolerance: launches beside each other do not add up", "[verify]") {
  GraphBuilder b(DType::kBf16);
  for (int i = 0; i < 9; ++i) {
    b.mark_output(b.scale("s" + std::to_string(i), b.input("x" + std::to_string(i), {4, 8}), 0.5),
                  "y" + std::to_string(i));
  }
  CHECK(tolerance_of(b.take()) == Catch::Approx(3.0 * std::ldexp(1.0, -8)).epsilon(1e-6));
}

TEST_CASE("tolerance: bf16 errors of all samples stay below it, and it is not far above them", "[verify]") {
  const auto executor = make_cpu_executor();
  std::vector<double> shares;
  for (Config config : sample_cases()) {
    config.set("dtype", std::string("bf16"));
    const Config sample = resolve(config);
    for (const char* plan : {"eager", "fused"}) {
      const Graph launches = plan_launches(build(sample), plan);
      if (executor->unsupported(launches)) {
        continue;
      }
      INFO(case_id(sample) << " " << plan);
      const double error = error_against_reference(*executor->prepare(launches, {}), launches, 1);
      CHECK(error <= tolerance_of(launches));
      shares.push_back(error / tolerance_of(launches));
    }
  }
  REQUIRE(shares.size() > 100);
  std::nth_element(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2), shares.end());
  CHECK(shares[shares.size() / 2] > 0.05);
}
