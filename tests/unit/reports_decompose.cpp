#include "reports/decompose.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reports_records.hpp"

#include <cmath>

using namespace attnprof;
using namespace attnprof::reports;

TEST_CASE("decomposition: the parts sum to the whole log ratio, whatever the sizes") {
  const ModelTimes cases[] = {{1, 2, 3}, {2, 1, 0}, {1e-6, 5, 0.1}, {0, 7, 0}, {1, 2, 3.0000000001}, {4, 0, 0}};
  for (const ModelTimes& base : cases) {
    for (const ModelTimes& other : cases) {
      for (const double log_ratio : {-0.7, 0.0, 1.3}) {
        const auto parts = decompose(base, other, log_ratio);
        REQUIRE(parts);
        CHECK(parts->sum() == Catch::Approx(log_ratio).margin(1e-8));
      }
    }
  }
  CHECK_FALSE(decompose({0, 0, 0}, {1, 1, 1}, 0.1));
}

TEST_CASE("decomposition: each part is charged with what changed") {
  const ModelTimes base{2, 2, 2};
  const auto less_work = decompose(base, {1, 2, 2}, std::log(5.0 / 6.0));
  CHECK(less_work->work == Catch::Approx(std::log(5.0 / 6.0)));
  CHECK(less_work->bytes == 0.0);
  CHECK(less_work->efficiency == Catch::Approx(0.0).margin(1e-12));
  const auto faster = decompose(base, base, std::log(0.5)); // the same work in half the time
  CHECK(faster->efficiency == Catch::Approx(std::log(0.5)));
  CHECK(faster->work == 0.0);
  const auto traded = decompose(base, {3, 1, 2}, 0.0); // as much more work as fewer bytes
  CHECK(traded->work == Catch::Approx(-traded->bytes));
  CHECK(traded->work > 0.0);
  const auto back = decompose({3, 1, 2}, base, 0.0); // the other way about, the other sign
  CHECK(back->work == Catch::Approx(-traded->work));
}

TEST_CASE("decomposition: model times come from the launches and the ceilings") {
  const profilers::Record record = tests::counted_record();
  Roofs roofs = tests::round_roofs();
  const auto times = model_times(record, roofs);
  REQUIRE(times);
  // 2 MFLOP at 100 GFLOP/s; 40 k vector FLOPs at 50 GFLOP/s; 10 k exponentials at 1 G/s.
  CHECK(times->work_s == Catch::Approx(2e6 / 100e9 + 40e3 / 50e9 + 10e3 / 1e9));
  CHECK(times->bytes_s > 2e6 / 20e9); // the copy alone, from DRAM
  CHECK(times->launches_s == 0.0);
  roofs.launch_overhead_s = 1e-6;
  CHECK(model_times(record, roofs)->launches_s == Catch::Approx(3e-6));
  roofs.matrix.reset();
  CHECK_FALSE(model_times(record, roofs)); // a ceiling that is needed is unknown
  CHECK_FALSE(model_times(profilers::Record(), tests::round_roofs()));
}
