#include "profilers/perf/counter_maths.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/text.hpp"

#include <limits>
#include <vector>

using namespace attnprof::profilers;
using attnprof::tests::mentions;

namespace {

constexpr double kAny = 1e9; ///< counts in a nanosecond: no limit

} // namespace

TEST_CASE("counter maths: a multiplexed count is scaled, and its coverage is known (BUG-115)") {
  const CountedInterval third = count_between({}, {1'000'000, 3'000'000, 1'000'000}, kAny);
  CHECK(third.count == 3'000'000.0);
  CHECK(*third.coverage() == Catch::Approx(1.0 / 3));
  const CountedInterval never = count_between({}, {1'000'000, 3'000'000, 0}, kAny);
  CHECK_FALSE(never.count);
  CHECK(mentions(never.fault, "never ran"));
  CHECK(mentions(count_between({}, {5, 3'000'000, 1'000}, kAny).fault, "0.033 % of the time"));
}

TEST_CASE("counter maths: intervals are differences of value and of both times (BUG-116)") {
  const CounterReading first{1'000'000, 10'000'000, 8'000'000};
  CHECK(count_between({}, first, kAny).count == 1'250'000.0);
  // A reset clears the value alone.
  const CounterReading reset{0, first.enabled_ns, first.running_ns};
  CHECK(count_between(reset, {2'000'000, 30'000'000, 13'000'000}, kAny).count == 8'000'000.0);
}

TEST_CASE("counter maths: what cannot be is no count (BUG-118)") {
  CHECK(mentions(count_between({10, 0, 0}, {5, 100, 100}, kAny).fault, "below zero")); // went back
  CHECK_FALSE(count_between({}, {static_cast<std::uint64_t>(-7), 100, 100}, kAny).count);
  CHECK_FALSE(count_between({}, {(1ULL << 48U) + 1, 100, 100}, kAny).count);
  CHECK(mentions(count_between({0, 100, 100}, {5, 50, 100}, kAny).fault, "backwards"));
  CHECK(mentions(count_between({0, 100, 100}, {5, 150, 90}, kAny).fault, "backwards"));
  CHECK(mentions(count_between({}, {5, 1'000'000, 2'000'000}, kAny).fault, "2000000 ns of 1000000"));
  CHECK(mentions(count_between({}, {1'000'000'000, 1'000'000, 1'000'000}, 10).fault, "impossible"));
  CHECK(count_between({}, {9'000'000, 1'000'000, 1'000'000}, 10).count == 9'000'000.0);
  // The 64-bit total may wrap: the difference is still right.
  const std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  CHECK(count_between({last - 9, 0, 0}, {90, 1000, 1000}, kAny).count == 100.0);
}

TEST_CASE("counter maths: threads add up, and one bad thread spoils the sum (BUG-135)") {
  const CountedInterval busy = count_between({}, {1000, 4000, 2000}, kAny);
  const CountedInterval asleep = count_between({}, {0, 0, 0}, kAny);
  CHECK(asleep.count == 0.0);
  CHECK_FALSE(asleep.coverage());
  const std::vector<CountedInterval> fine{busy, asleep, busy};
  CHECK(sum_of(fine).count == 4000.0);
  CHECK(sum_of(fine).coverage() == 0.5);
  const std::vector<CountedInterval> spoilt{busy, count_between({}, {7, 100, 0}, kAny), busy};
  CHECK_FALSE(sum_of(spoilt).count);
  CHECK(mentions(sum_of(spoilt).fault, "never ran"));
  CHECK_FALSE(sum_of({}).count);
}

TEST_CASE("counter maths: FLOPs by lanes, instructions a cycle, bytes of misses, counts of one run") {
  const std::vector<WeightedCount> intel{{10, 1}, {20, 4}, {30, 8}, {40, 16}};
  CHECK(weighted_sum(intel) == 10.0 + 80 + 240 + 640);
  const std::vector<WeightedCount> one_missing{{10, 1}, {std::nullopt, 4}};
  CHECK_FALSE(weighted_sum(one_missing));
  CHECK_FALSE(weighted_sum({}));
  CHECK(instructions_per_cycle(300, 200) == 1.5);
  CHECK_FALSE(instructions_per_cycle(300, 0)); // BUG-119: no ratio of a counter that answers 0
  CHECK_FALSE(instructions_per_cycle(0, 200));
  CHECK(bytes_of_misses(1000, 64) == 64'000);
  CHECK_FALSE(bytes_of_misses(std::nullopt, 64));
  CHECK_FALSE(bytes_of_misses(std::numeric_limits<std::int64_t>::max(), 64));
  CHECK(per_run(1001, 10) == 100);
  CHECK_FALSE(per_run(4, 10)); // a rounded 0 would read as a result
  CHECK_FALSE(per_run(4, 0));
  CHECK_FALSE(per_run(std::nullopt, 1));
}

TEST_CASE("counter maths: a counter is trusted within 5 % of known work (BUG-091, BUG-125)") {
  const auto zen5 = check_ratio(128'817'446'704.0, 257'698'037'760.0);
  CHECK(*zen5 == Catch::Approx(0.4999).epsilon(1e-3));
  CHECK_FALSE(is_trusted(zen5));
  CHECK_FALSE(is_trusted(check_ratio(0.75, 1)));
  CHECK(is_trusted(check_ratio(0.951, 1)));
  CHECK(is_trusted(check_ratio(1.049, 1)));
  CHECK_FALSE(is_trusted(check_ratio(1.06, 1)));
  CHECK_FALSE(check_ratio(0, 1)); // counts nothing: no ratio at all
  CHECK_FALSE(is_trusted(std::nullopt));
}
