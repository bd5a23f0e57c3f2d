#include "profilers/stopping.hpp"
#include "tests/support/catch.hpp"

#include <functional>
#include <set>
#include <vector>

using namespace attnprof::profilers;
using Samples = std::vector<double>;

namespace {

StopReason run_until_stopped(StoppingRule& rule, const std::function<double(std::size_t)>& sample_s,
                             double overhead_s = 0) {
  Samples samples;
  double timed_s = 0;
  double elapsed_s = 0;
  while (true) {
    samples.push_back(sample_s(samples.size()));
    timed_s += samples.back();
    elapsed_s += samples.back() + overhead_s;
    if (const auto reason = rule.after(samples, timed_s, elapsed_s))
      return *reason;
    REQUIRE(samples.size() < 1'000'000);
  }
}

} // namespace

TEST_CASE("stop reasons have distinct names") {
  std::set<std::string_view> names;
  for (const auto reason : {StopReason::kNoiseReached, StopReason::kMinTime, StopReason::kRepetitions,
                            StopReason::kTimeout, StopReason::kSampleCap, StopReason::kInterrupted})
    names.insert(name_of(reason));
  CHECK(names.size() == 6);
  CHECK(names.count("noise_reached") == 1);
  CHECK(names.count("") == 0);
}

TEST_CASE("the stopping rule") {
  StopCriteria criteria;
  criteria.min_time_s = 0.2;
  criteria.timeout_s = 5;
  const auto constant = [](std::size_t) { return 0.001; };
  // Two levels in turn: the median is pinned to neither, its interval is as wide as the gap.
  const auto noisy = [](std::size_t i) { return i / 64 % 2 == 0 ? 0.001 : 0.002; };

  SECTION("ends on the noise target after the minimum time") {
    StoppingRule rule(criteria);
    CHECK_FALSE(rule.after(Samples(199, 0.001), 0.199, 0.199));
    CHECK(*rule.after(Samples(201, 0.001), 0.201, 0.201) == StopReason::kNoiseReached);
  }
  SECTION("ends on the timeout while noisy") {
    StoppingRule rule(criteria);
    CHECK(run_until_stopped(rule, noisy) == StopReason::kTimeout);
  }
  SECTION("waits past the timeout for the five samples of an interval, where they are in reach") {
    criteria.timeout_s = 1;
    StoppingRule rule(criteria);
    const Samples held_up{0.3, 0.02, 0.6, 0.25};
    CHECK_FALSE(rule.after(std::span(held_up).first(2), 0.32, 1.2));
    CHECK_FALSE(rule.after(held_up, 1.17, 2.9));
    CHECK(*rule.after(held_up, 1.17, 3.1) == StopReason::kTimeout);
    CHECK(*rule.after(Samples(5, 0.3), 1.5, 1.6) == StopReason::kTimeout);  // there are five
    CHECK(*rule.after(Samples(3, 0.3), 0.9, 1.1) == StopReason::kTimeout);  // the body itself is slow
    CHECK(*rule.after(Samples(4, 1e-3), 1.0, 1.1) == StopReason::kTimeout); // and repeated in each sample
    criteria.repetitions = 3;
    StoppingRule exact(criteria);
    CHECK(*exact.after(Samples(2, 0.1), 0.2, 1.2) == StopReason::kTimeout);
  }
  SECTION("counts the time between samples towards the timeout only") {
    criteria.timeout_s = 0.1;
    StoppingRule rule(criteria);
    CHECK(run_until_stopped(rule, constant, 0.05) == StopReason::kTimeout);
  }
  SECTION("takes exactly the requested repetitions") {
    criteria.repetitions = 3;
    StoppingRule rule(criteria);
    CHECK_FALSE(rule.after(Samples(2, 1.0), 2, 2));
    CHECK(*rule.after(Samples(3, 1.0), 3, 3) == StopReason::kRepetitions);
  }
  SECTION("ends on the minimum time without a noise target") {
    criteria.max_noise.reset();
    StoppingRule rule(criteria);
    CHECK(run_until_stopped(rule, noisy) == StopReason::kMinTime);
  }
  SECTION("ends on the sample cap") {
    criteria.max_samples = 50;
    StoppingRule rule(criteria);
    CHECK(run_until_stopped(rule, constant) == StopReason::kSampleCap);
  }
  SECTION("needs the least number of samples") {
    criteria.min_samples = 20;
    StoppingRule rule(criteria);
    CHECK_FALSE(rule.after(Samples(19, 0.1), 1.9, 1.9));
    CHECK(*rule.after(Samples(20, 0.1), 2.0, 2.0) == StopReason::kNoiseReached);
  }
}

TEST_CASE("the warm-up lasts until two windows agree (BUG-142)") {
  // Milliseconds of the report; the steady value goes on.
  const Samples start{11.2, 11.0, 10.1, 9.3, 8.9, 8.8};
  WarmUpRule rule({});
  std::size_t taken = 0;
  double elapsed_s = 0;
  std::optional<WarmUpEnd> end;
  while (!end) {
    const double sample_s = 1e-3 * (taken < start.size() ? start[taken] : 8.8);
    elapsed_s += sample_s;
    ++taken;
    end = rule.after(sample_s, sample_s, elapsed_s);
  }
  CHECK(*end == WarmUpEnd::kSteady);
  CHECK(taken == 9);
}

TEST_CASE("the warm-up is capped") {
  WarmUpCriteria criteria;
  SECTION("by time, after a single long run too") {
    WarmUpRule rule(criteria);
    CHECK(*rule.after(30, 30, 30) == WarmUpEnd::kTimeCap);
  }
  SECTION("by samples, when time stands still") {
    criteria.max_samples = 100;
    WarmUpRule rule(criteria);
    std::optional<WarmUpEnd> end;
    int taken = 0;
    for (; !end; ++taken)
      end = rule.after(0, 0, 0);
    CHECK(*end == WarmUpEnd::kSampleCap);
    CHECK(taken == 100);
  }
  SECTION("short samples fill a window of time, not of count") {
    WarmUpRule rule(criteria);
    int taken = 0;
    while (!rule.after(1e-4, 1e-4, taken * 1e-4))
      ++taken;
    CHECK(taken >= 198);
  }
}

TEST_CASE("iterations grow without dividing by an estimate of zero (BUG-214)") {
  CHECK(grow_iterations(1, 0, 1e-3) == 10);
  CHECK(grow_iterations(1, 1e-9, 1e-3) == 10);
  CHECK(grow_iterations(100, 5e-4, 1e-3) / 2 == 110);
  CHECK(grow_iterations(1, 0.999e-3, 1e-3) == 2);
}
